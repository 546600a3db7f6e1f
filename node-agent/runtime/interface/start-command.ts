/**
 * Start arguments: words that replace the image's CMD, or a JSON object whose `entrypoint` and `cmd` replace
 * ENTRYPOINT and CMD.
 */
import { parseJson } from "../../../src/std/json.ts";
import { split } from "shlex";
import * as z from "zod";

/** What replaces the image's own; empty for what does not. */
export type StartCommand = { readonly entrypoint: readonly string[]; readonly command: readonly string[] };

const objectSchema = z
  .object({ entrypoint: z.array(z.string()).default([]), cmd: z.array(z.string()).default([]) })
  .refine(({ entrypoint, cmd }) => entrypoint.length + cmd.length > 0);

export function readStartCommand(dockerArgs: string): StartCommand {
  const parsed = objectSchema.safeParse(parseJson(dockerArgs));
  if (parsed.success) return { entrypoint: parsed.data.entrypoint, command: parsed.data.cmd };
  return { entrypoint: [], command: splitCommandLine(dockerArgs) };
}

/** Splits start arguments into words as a POSIX shell would; nothing is expanded or run by a shell. */
export function splitCommandLine(dockerArgs: string): string[] {
  try {
    return split(dockerArgs);
  } catch {
    throw new Error(
      `The start arguments can not be split into words: ${dockerArgs}. Check that every quote is closed.`,
    );
  }
}
