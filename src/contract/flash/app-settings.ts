/**
 * The settings that an app gives its endpoints, and those that it gives their containers, in one table each. From the
 * tables come the members of a manifest's resources, and in the `flash` command the input of `saveEndpoint`, what is
 * read of an endpoint that exists, and their comparison. Names and units are those of `EndpointInput`, whose fields are
 * in `src/management/nouns/`.
 */
import * as z from "zod";
import { SCALER_VALUE_DEFAULT } from "../endpoint.ts";
import { EXECUTION_TIMEOUT_DEFAULT_MS } from "../limits.ts";
import { modelReferencesSchema } from "../model.ts";

type Setting = {
  /** In a manifest, where every setting may be absent. */
  readonly schema: z.ZodType;
  /** What an app means that does not give it; those of the API differ. */
  readonly default: unknown;
};
type Settings = Readonly<Record<string, Setting>>;

const string = z.string();
const count = z.number().int().nonnegative();

export const endpointSettings = {
  /** Empty for an endpoint on CPUs. */
  gpuIds: { schema: string, default: "" },
  gpuCount: { schema: count, default: 1 },
  /** 0 leaves each worker its GPUs to itself. */
  gpuMemoryGb: { schema: count, default: 0 },
  instanceIds: { schema: z.array(string), default: [] },
  workersMin: { schema: count, default: 0 },
  workersMax: { schema: count, default: 1 },
  idleTimeout: { schema: count, default: 60 },
  /** Load-balanced endpoints have another default. */
  scalerType: { schema: z.enum(["QUEUE_DELAY", "REQUEST_COUNT"]), default: "QUEUE_DELAY" },
  scalerValue: { schema: count, default: SCALER_VALUE_DEFAULT },
  /** 0 stands for the default. */
  executionTimeoutMs: { schema: count, default: EXECUTION_TIMEOUT_DEFAULT_MS },
  locations: { schema: string, default: "" },
  minCudaVersion: { schema: string, default: "" },
  flashBootType: { schema: z.enum(["OFF", "FLASHBOOT"]), default: "FLASHBOOT" },
} as const satisfies Settings;

/** Without the image, which is chosen by kind where the app names none, and without variables. */
export const containerSettings = {
  containerDiskInGb: { schema: count, default: 64 },
  dockerArgs: { schema: string, default: "" },
  ports: { schema: string, default: "" },
  startScript: { schema: string, default: "" },
  advancedStart: { schema: z.boolean(), default: false },
  containerRegistryAuthId: { schema: string, default: "" },
  models: { schema: modelReferencesSchema, default: [] },
  /** Empty for none. */
  modelTokenSecret: { schema: string, default: "" },
} as const satisfies Settings;

/** Every setting of a table with its value. */
export type ValuesOf<Table extends Settings> = {
  readonly [Name in keyof Table]: z.output<Table[Name]["schema"]>;
};
export type EndpointSettings = ValuesOf<typeof endpointSettings>;
export type ContainerSettings = ValuesOf<typeof containerSettings>;

type DeclaredShape<Table extends Settings> = {
  readonly [Name in keyof Table]: z.ZodOptional<Table[Name]["schema"]>;
};

/** The members of a manifest. */
export function declaredShape<Table extends Settings>(table: Table): DeclaredShape<Table> {
  const shape = Object.entries(table).map(([name, { schema }]) => [name, schema.optional()]);
  return Object.fromEntries(shape) as DeclaredShape<Table>;
}

/** The settings that a manifest declares, and the defaults of all others. */
export function settingsOf<Table extends Settings>(
  table: Table,
  declared: { readonly [Name in keyof Table]?: z.output<Table[Name]["schema"]> | undefined },
): ValuesOf<Table> {
  const values = new Map<string, unknown>(Object.entries(declared));
  const settings = Object.entries(table).map(([name, { default: initial }]) => [
    name,
    values.get(name) ?? initial,
  ]);
  return Object.fromEntries(settings) as ValuesOf<Table>;
}
