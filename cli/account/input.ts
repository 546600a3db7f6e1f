/** JSON that users write on the command line, in a file, or pass on the standard input. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { parseJson } from "../../src/std/json.ts";

/** JSON as it is written, of a file after @, or of the standard input for "-". */
export async function readInput(written: string): Promise<unknown> {
  const json = await textOf(written);
  const value = parseJson(json);
  if (value !== undefined) return value;
  throw new Failure(
    "The input is not JSON.",
    [`Write --input '{"name": "you"}', --input @file.json, or --input - for the standard input.`],
    EXIT_USAGE,
  );
}

async function textOf(written: string): Promise<string> {
  if (written === "-") return await text(process.stdin);
  if (!written.startsWith("@")) return written;
  return await readFile(written.slice(1), "utf8").catch((error: unknown) => {
    throw new Failure(`The input cannot be read: ${(error as Error).message}`);
  });
}
