/** What a worker has printed, as users read it. */
import * as z from "zod";
import { APP_DIRECTORY } from "../../src/contract/agent/artifact.ts";
import { printable } from "../core/printable.ts";
import { parseJson } from "../../src/std/json.ts";

/** Workers that run several jobs at a time tag what they print with the job's id. */
const taggedSchema = z.object({ requestId: z.string(), message: z.string() });

/** Without the tag of its job; files of the app are called as in the project. */
export function readPrintedLine(line: string): readonly string[] {
  const tagged = line.startsWith("{") ? taggedSchema.safeParse(parseJson(line)) : undefined;
  const text = tagged?.success === true ? tagged.data.message.trimEnd() : line;
  return printable(text).replaceAll(`File "${APP_DIRECTORY}/`, 'File "').split("\n");
}
