/** Requirements parsed by Python's library `packaging`, through `python -m edgerun.requirements`. */
import { join } from "node:path";
import { execa } from "execa";
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { SDK_PACKAGE } from "./exclusions.ts";

const string = z.string();
const strings = z.array(string);

const requirementSchema = z.object({
  name: string,
  /** Normalised, as PEP 503 has it. */
  key: string,
  extras: strings,
  /** Without its marker. */
  text: string,
  /** Its marker, if any, is true on the worker. */
  applies: z.boolean(),
});
export type Requirement = z.infer<typeof requirementSchema>;

const readingSchema = z.object({
  /** In the order of the input. */
  requirements: z.array(z.union([z.object({ error: string }), requirementSchema])),
  /** Indexes of two requirements that contradict each other. */
  conflicts: z.array(z.tuple([z.number(), z.number()])),
});

export type Reading = z.infer<typeof readingSchema>;

const surveySchema = z.object({
  distributions: z.array(
    z.object({
      key: string,
      version: string,
      /** Excluded, or needed by excluded ones only. */
      isSuperfluous: z.boolean(),
      /** From its RECORD. */
      files: strings,
    }),
  ),
  /** Excluded names that something needs. */
  excluded: strings,
  /** Needed on a worker, and not installed. */
  missing: strings,
});
export type Survey = z.infer<typeof surveySchema>;

const pipSchema = z.object({ args: strings.nullable() });

const LIBRARY_MISSING = 3;

/** Loads the package `edgerun` without its __init__, which would take longer than the answer. */
const BOOTSTRAP = `
import runpy, sys, types
package = types.ModuleType("edgerun")
package.__path__ = [sys.argv.pop(1)]
sys.modules["edgerun"] = package
runpy.run_module("edgerun.requirements", run_name="__main__", alter_sys=True)
`;

export type PythonSetting = {
  readonly executable: string;
  /** Holds `edgerun`. */
  readonly sdk: string;
  /** Holds `packaging`, where the interpreter has none. */
  readonly library?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Python version of the worker, such as 3.12. */
  readonly target: string;
};

/** Undefined when the interpreter has no library `packaging`. */
export async function parseRequirements(
  setting: PythonSetting,
  written: readonly string[],
): Promise<Reading | undefined> {
  return await callPython(
    setting,
    { operation: "read", texts: written, python: setting.target },
    readingSchema,
  );
}

/** The packages in a directory, and which of them `roots` need. */
export async function surveyInstallation(
  setting: PythonSetting,
  directory: string,
  roots: readonly Pick<Requirement, "key" | "extras">[],
  excluded: readonly string[],
): Promise<Survey | undefined> {
  const question = { operation: "survey", directory, roots, excluded, python: setting.target };
  return await callPython(setting, question, surveySchema);
}

/** Arguments that run pip: the installed one, or that of `ensurepip`; undefined without either. */
export async function findPip(
  setting: Omit<PythonSetting, "target">,
): Promise<readonly string[] | undefined> {
  const answer = await callPython(setting, { operation: "pip" }, pipSchema);
  return answer?.args ?? undefined;
}

async function callPython<Schema extends z.ZodType>(
  { executable, sdk, library, environment, signal }: Omit<PythonSetting, "target">,
  question: object,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  const script = ["-c", BOOTSTRAP, join(sdk, SDK_PACKAGE)];
  const result = await execa(executable, ["-X", "utf8", "-W", "ignore", ...script], {
    // First on the import path; the project may have modules named like those of Python.
    cwd: sdk,
    input: JSON.stringify(question),
    env: { ...environment, PYTHONPATH: library },
    extendEnv: false,
    cancelSignal: signal,
    reject: false,
  });
  signal.throwIfAborted();
  if (result.exitCode === LIBRARY_MISSING) return undefined;
  if (result.exitCode === 0) return schema.parse(JSON.parse(result.stdout));
  throw new Failure(`${executable} cannot parse requirements.`, result.stderr.split("\n").slice(-5));
}
