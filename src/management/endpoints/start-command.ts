/**
 * The grammar of a template's `dockerArgs`: arguments that replace the image's CMD, split as a shell would, or a
 * JSON object whose `entrypoint` and `cmd` replace ENTRYPOINT and CMD.
 */
import { join, split } from "shlex";
import * as z from "zod";

/** What replaces the image's own; empty for what does not. */
export type StartCommand = { readonly entrypoint: readonly string[]; readonly command: readonly string[] };

const objectSchema = z
  .object({ entrypoint: z.array(z.string()).default([]), cmd: z.array(z.string()).default([]) })
  .refine(({ entrypoint, cmd }) => entrypoint.length + cmd.length > 0);

export function readStartCommand(dockerArgs: string): StartCommand {
  const parsed = objectSchema.safeParse(parseObject(dockerArgs));
  if (parsed.success) return { entrypoint: parsed.data.entrypoint, command: parsed.data.cmd };
  return { entrypoint: [], command: splitArguments(dockerArgs) };
}

/** Whether every quote in it is closed, so that hosts can read it. */
export function isStartCommand(dockerArgs: string): boolean {
  if (objectSchema.safeParse(parseObject(dockerArgs)).success) return true;
  try {
    split(dockerArgs);
    return true;
  } catch {
    return false;
  }
}

export function writeStartCommand({ entrypoint, command }: StartCommand): string {
  return entrypoint.length === 0 ? join([...command]) : JSON.stringify({ entrypoint, cmd: command });
}

function parseObject(text: string): unknown {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function splitArguments(text: string): readonly string[] {
  try {
    return split(text);
  } catch {
    return [text]; // an older one in which a quote is not closed; the start of the worker reports it
  }
}
