/** Requirements as Python's own library reads them, by `python -m edgerun.requirements`. */
import { delimiter } from "node:path";
import { execa } from "execa";
import * as z from "zod";
import { Failure } from "../failure.ts";

const text = z.string();
const texts = z.array(text);

const requirementSchema = z.object({
  name: text,
  /** Normalised, as PEP 503 has it. */
  key: text,
  extras: texts,
  /** Without its marker. */
  text,
  /** Its marker, if any, is true on the worker. */
  applies: z.boolean(),
});
export type Requirement = z.infer<typeof requirementSchema>;

const readingSchema = z.object({
  /** In the order of the texts. */
  requirements: z.array(z.union([z.object({ error: text }), requirementSchema])),
  /** Numbers of two that cannot both be met. */
  conflicts: z.array(z.tuple([z.number(), z.number()])),
});

export type Reading = z.infer<typeof readingSchema>;

const surveySchema = z.object({
  distributions: z.array(
    z.object({
      key: text,
      version: text,
      /** Excluded, or needed by excluded ones only. */
      isSuperfluous: z.boolean(),
      /** As its RECORD has them. */
      files: texts,
    }),
  ),
  /** Excluded names that something needs. */
  excluded: texts,
  /** Needed on a worker, and not installed. */
  missing: texts,
});
export type Survey = z.infer<typeof surveySchema>;

const LIBRARY_MISSING = 3;

export type PythonSetting = {
  readonly executable: string;
  /** Directories with `edgerun`, and with `packaging` where the interpreter has none. */
  readonly path: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Of the worker, such as 3.12. */
  readonly target: string;
};

/** Undefined when the interpreter has no library that reads requirements. */
export async function readRequirements(
  setting: PythonSetting,
  written: readonly string[],
): Promise<Reading | undefined> {
  return await ask(setting, { operation: "read", texts: written }, readingSchema);
}

/** What is installed in a directory, and what of it `roots` need. */
export async function surveyInstallation(
  setting: PythonSetting,
  directory: string,
  roots: readonly Pick<Requirement, "key" | "extras">[],
  excluded: readonly string[],
): Promise<Survey | undefined> {
  return await ask(setting, { operation: "survey", directory, roots, excluded }, surveySchema);
}

async function ask<Schema extends z.ZodType>(
  { executable, path, environment, signal, target }: PythonSetting,
  question: object,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  const result = await execa(executable, ["-X", "utf8", "-W", "ignore", "-m", "edgerun.requirements"], {
    // Where modules are looked for first; the project may have some of names that Python uses.
    cwd: path[0] ?? ".",
    input: JSON.stringify({ ...question, python: target }),
    env: { ...environment, PYTHONPATH: path.join(delimiter), PYTHONDONTWRITEBYTECODE: "1" },
    extendEnv: false,
    cancelSignal: signal,
    reject: false,
  });
  signal.throwIfAborted();
  if (result.exitCode === LIBRARY_MISSING) return undefined;
  if (result.exitCode === 0) return schema.parse(JSON.parse(result.stdout));
  throw new Failure(`${executable} cannot read requirements.`, result.stderr.split("\n").slice(-5));
}
