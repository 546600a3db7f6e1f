/**
 * `flash_manifest.json`: the description of a build. Written by the `flash` command, kept with the build, read by
 * workers. Other clients write their own manifests, so unknown members are accepted.
 */
import * as z from "zod";
import { containerSettings, declaredShape, endpointSettings } from "./app-settings.ts";

export const MANIFEST_FILE = "flash_manifest.json";

const string = z.string();
const strings = z.array(string);
const count = z.number().int().nonnegative();

export const manifestParameterSchema = z.looseObject({
  name: string,
  kind: z.enum(["positional", "keyword", "var_positional", "var_keyword"]),
  /** As written in the source. */
  annotation: string.nullable(),
  isRequired: z.boolean(),
  /** As JSON where the value can be determined, otherwise absent. */
  default: z.unknown().optional(),
});
export type ManifestParameter = z.infer<typeof manifestParameterSchema>;

export const manifestFunctionSchema = z.looseObject({
  name: string,
  /** Dotted path. */
  module: string,
  is_async: z.boolean().optional(),
  is_class: z.boolean().optional(),
  /** Public methods in the order of their definition. */
  class_methods: strings.optional(),
  http_method: string.nullable().optional(),
  http_path: string.nullable().optional(),
  /** First line of the docstring. */
  description: string.nullable().optional(),
  /** Without `self`; of a class with one public method those of that method, with several none. */
  parameters: z.array(manifestParameterSchema).optional(),
  /** Present for a class: the parameters of each public method, without `self`. */
  method_parameters: z.record(string, z.array(manifestParameterSchema)).optional(),
});
export type ManifestFunction = z.infer<typeof manifestFunctionSchema>;

const volumeSchema = z.looseObject({
  id: string.optional(),
  name: string.optional(),
  /** GB. */
  size: count.optional(),
  dataCenterId: string.optional(),
});

const templateSchema = z.looseObject({
  imageName: string.optional(),
  ...declaredShape(containerSettings),
  env: z.array(z.object({ key: string, value: string })).optional(),
});

/** One endpoint. Words in camelCase are those of EndpointInput. */
export const manifestResourceSchema = z.looseObject({
  resource_type: string.optional(),
  is_load_balanced: z.boolean(),
  is_live_resource: z.boolean().optional(),
  /** The user's own image: no functions, nothing of the artifact. */
  client_mode: z.boolean().optional(),
  file_path: string.optional(),
  local_path_prefix: string.optional(),
  module_path: string.optional(),
  config_variable: string.nullable().optional(),
  /** The endpoint's code, or anything that it imports, refers to a function of another endpoint. */
  makes_remote_calls: z.boolean().optional(),
  target_python_version: string.optional(),
  handler_file: string.optional(),
  functions: z.array(manifestFunctionSchema),
  max_concurrency: count.optional(),
  imageName: string.optional(),
  ...declaredShape(endpointSettings),
  env: z.record(string, string).optional(),
  networkVolumeId: string.optional(),
  networkVolume: volumeSchema.optional(),
  networkVolumes: z.array(volumeSchema).optional(),
  template: templateSchema.optional(),
  /** After a deploy. */
  endpoint_id: string.optional(),
});
export type ManifestResource = z.infer<typeof manifestResourceSchema>;

export const flashManifestSchema = z.looseObject({
  version: string.optional(),
  generated_at: string.optional(),
  project_name: string.optional(),
  python_version: string.optional(),
  sdk_version: string.optional(),
  source_fingerprint: string.optional(),
  /** Names of packages that were left out because the image has them, or because the user excluded them. */
  excluded_packages: strings.optional(),
  /** By endpoint name. */
  resources: z.record(string, manifestResourceSchema),
  /** `<module>.<function>` → endpoint name. */
  function_registry: z.record(string, string).optional(),
  /** Endpoint name → "<METHOD> <path>" → function name. */
  routes: z.record(string, z.record(string, string)).optional(),
  /** After a deploy: endpoint name → address. */
  resources_endpoints: z.record(string, string).optional(),
});
export type FlashManifest = z.infer<typeof flashManifestSchema>;
