/**
 * `flash_manifest.json`: what a build says of itself. Written by the `flash` command, kept with the build, read by
 * workers. Other clients write one of their own, so what is not known here is let through.
 */
import * as z from "zod";

export const MANIFEST_FILE = "flash_manifest.json";

const text = z.string();
const texts = z.array(text);
const count = z.number().int().nonnegative();

export const manifestParameterSchema = z.looseObject({
  name: text,
  kind: z.enum(["positional", "keyword", "var_positional", "var_keyword"]),
  /** As written in the source. */
  annotation: text.nullable(),
  isRequired: z.boolean(),
  /** JSON where it can be told, else absent. */
  default: z.unknown().optional(),
});
export type ManifestParameter = z.infer<typeof manifestParameterSchema>;

export const manifestFunctionSchema = z.looseObject({
  name: text,
  /** Dotted path. */
  module: text,
  is_async: z.boolean().optional(),
  is_class: z.boolean().optional(),
  /** Public methods in the order of their definition. */
  class_methods: texts.optional(),
  http_method: text.nullable().optional(),
  http_path: text.nullable().optional(),
  /** First line of the docstring. */
  description: text.nullable().optional(),
  /** Without `self`; of a class with one public method those of that method, with several none. */
  parameters: z.array(manifestParameterSchema).optional(),
  /** Of a class: those of each public method, without `self`. */
  method_parameters: z.record(text, z.array(manifestParameterSchema)).optional(),
});
export type ManifestFunction = z.infer<typeof manifestFunctionSchema>;

const volumeSchema = z.looseObject({
  id: text.optional(),
  name: text.optional(),
  /** GB. */
  size: count.optional(),
  dataCenterId: text.optional(),
});

const templateSchema = z.looseObject({
  imageName: text.optional(),
  ports: text.optional(),
  containerDiskInGb: count.optional(),
  dockerArgs: text.optional(),
  startScript: text.optional(),
  advancedStart: z.boolean().optional(),
  containerRegistryAuthId: text.optional(),
  env: z.array(z.object({ key: text, value: text })).optional(),
});

/** One endpoint. Words in camelCase are those of EndpointInput. */
export const manifestResourceSchema = z.looseObject({
  resource_type: text.optional(),
  is_load_balanced: z.boolean(),
  is_live_resource: z.boolean().optional(),
  /** An image of one's own: no functions, nothing of the artifact. */
  client_mode: z.boolean().optional(),
  file_path: text.optional(),
  local_path_prefix: text.optional(),
  module_path: text.optional(),
  config_variable: text.nullable().optional(),
  /** Of the endpoint's code, or anything that it imports: it refers to a function of another endpoint. */
  makes_remote_calls: z.boolean().optional(),
  target_python_version: text.optional(),
  handler_file: text.optional(),
  functions: z.array(manifestFunctionSchema),
  max_concurrency: count.optional(),
  imageName: text.optional(),
  gpuIds: text.optional(),
  gpuCount: count.optional(),
  instanceIds: texts.optional(),
  workersMin: count.optional(),
  workersMax: count.optional(),
  /** Seconds. */
  idleTimeout: count.optional(),
  executionTimeoutMs: count.optional(),
  scalerType: z.enum(["QUEUE_DELAY", "REQUEST_COUNT"]).optional(),
  scalerValue: count.optional(),
  locations: text.optional(),
  minCudaVersion: text.optional(),
  flashBootType: z.enum(["OFF", "FLASHBOOT"]).optional(),
  env: z.record(text, text).optional(),
  networkVolumeId: text.optional(),
  networkVolume: volumeSchema.optional(),
  networkVolumes: z.array(volumeSchema).optional(),
  template: templateSchema.optional(),
  /** After a deploy. */
  endpoint_id: text.optional(),
});
export type ManifestResource = z.infer<typeof manifestResourceSchema>;

export const flashManifestSchema = z.looseObject({
  version: text.optional(),
  generated_at: text.optional(),
  project_name: text.optional(),
  python_version: text.optional(),
  sdk_version: text.optional(),
  source_fingerprint: text.optional(),
  /** Names of packages that were left out because the image has them, or because the person said so. */
  excluded_packages: texts.optional(),
  /** By endpoint name. */
  resources: z.record(text, manifestResourceSchema),
  /** `<module>.<function>` → endpoint name. */
  function_registry: z.record(text, text).optional(),
  /** Endpoint name → "<METHOD> <path>" → function name. */
  routes: z.record(text, z.record(text, text)).optional(),
  /** After a deploy: endpoint name → address. */
  resources_endpoints: z.record(text, text).optional(),
});
export type FlashManifest = z.infer<typeof flashManifestSchema>;
