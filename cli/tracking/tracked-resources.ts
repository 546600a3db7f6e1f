/** `.flash/resources.pkl`: the endpoints that this project's commands have made, by "Type:name". */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { z } from "zod";
import { Failure } from "../failure.ts";
import { type Plain, readPickle, writePickle } from "./pickle.ts";

const trackedSchema = z.record(z.string(), z.looseObject({ id: z.string(), name: z.string() }));
export type Tracked = Readonly<Record<string, { readonly id: string; readonly name: string }>>;

/** Empty where nothing is tracked. Throws a Failure for a file that holds anything but plain values. */
export async function readTracked(directory: string): Promise<Tracked> {
  const path = pathIn(directory);
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (bytes === undefined) return {};
  try {
    return trackedSchema.parse(readPickle(bytes));
  } catch (error) {
    const reason = error instanceof z.ZodError ? "it holds no endpoints" : (error as Error).message;
    throw new Failure(`${path} is not read: ${reason}.`, [
      "It is a cache, made anew by the next command: delete it.",
    ]);
  }
}

export async function writeTracked(directory: string, tracked: Tracked): Promise<void> {
  await writeFileAtomic(pathIn(directory), writePickle(tracked as Plain));
}

function pathIn(directory: string): string {
  return join(directory, ".flash", "resources.pkl");
}
