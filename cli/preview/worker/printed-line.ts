/** A line that a container prints, as its person reads it. */
import * as z from "zod";
import { APP_DIRECTORY } from "../../../src/contract/agent/artifact.ts";

/** Workers that run several jobs at a time tag what they say with the job's id. */
const taggedSchema = z.object({ requestId: z.string(), message: z.string() });

/** Without the tag; files of the app are called as in the project. */
export function readLine(line: string): readonly string[] {
  const tagged = line.startsWith("{") ? taggedSchema.safeParse(jsonOf(line)) : undefined;
  const text = tagged?.success === true ? tagged.data.message.trimEnd() : line;
  return text.replaceAll(`File "${APP_DIRECTORY}/`, 'File "').split("\n");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
