/** `flash_manifest.json`, made of what discovery has found. */
import type {
  FlashManifest,
  ManifestFunction,
  ManifestResource,
} from "../../src/contract/flash/flash-manifest.ts";
import type {
  DiscoveredEndpoint,
  DiscoveredFunction,
  DiscoveryReport,
} from "../discovery/discovery-report.ts";

const MANIFEST_VERSION = "1.0";

export type ManifestOptions = {
  readonly appName: string;
  /** Such as 3.12. */
  readonly pythonVersion: string;
  readonly images: RuntimeImages;
  readonly fingerprint: string;
  readonly excludedPackages: readonly string[];
  /** ISO 8601 in UTC. */
  readonly generatedAt: string;
};

/** The same report and options give the same manifest, with its keys in the same order. */
export function toManifest(report: DiscoveryReport, options: ManifestOptions): FlashManifest {
  const endpoints = report.endpoints.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const balanced = endpoints.filter((endpoint) => endpoint.isLoadBalanced);
  return {
    version: MANIFEST_VERSION,
    generated_at: options.generatedAt,
    project_name: options.appName,
    python_version: options.pythonVersion,
    sdk_version: report.sdkVersion,
    source_fingerprint: options.fingerprint,
    excluded_packages: [...options.excludedPackages],
    resources: Object.fromEntries(
      endpoints.map((endpoint) => [endpoint.name, resourceOf(endpoint, options)]),
    ),
    function_registry: Object.fromEntries(endpoints.flatMap(registryEntries)),
    ...(balanced.length > 0
      ? { routes: Object.fromEntries(balanced.map((endpoint) => [endpoint.name, routesOf(endpoint)])) }
      : {}),
  };
}

/** Name of the generated file that starts a queue-based endpoint; safe, as names of endpoints are. */
export function handlerFileOf(endpointName: string): string {
  return `handler_${endpointName}.py`;
}

function resourceOf(endpoint: DiscoveredEndpoint, options: ManifestOptions): ManifestResource {
  const isCpu = (endpoint.resource.instanceIds?.length ?? 0) > 0;
  const { isLoadBalanced, isClient } = endpoint;
  const { functions: _, is_load_balanced: __, ...declared } = endpoint.resource;
  return {
    resource_type: `${isCpu ? "Cpu" : ""}${isLoadBalanced ? "LiveLoadBalancer" : "LiveServerless"}`,
    is_load_balanced: isLoadBalanced,
    is_live_resource: false,
    ...(isClient ? { client_mode: true } : {}),
    file_path: endpoint.filePath,
    local_path_prefix: `/${endpoint.name}`,
    module_path: endpoint.modulePath,
    config_variable: endpoint.configVariable,
    makes_remote_calls: endpoint.makesRemoteCalls,
    target_python_version: options.pythonVersion,
    ...(endpoint.pythonVersion === null ? {} : { python_version: endpoint.pythonVersion }),
    ...(isLoadBalanced || isClient ? {} : { handler_file: handlerFileOf(endpoint.name) }),
    functions: endpoint.functions.map(functionOf),
    imageName: declared.template?.imageName ?? imageFor(options.images, isLoadBalanced, isCpu),
    // Readers of a manifest find both in every resource.
    gpuIds: "",
    env: {},
    ...declared,
  };
}

function functionOf(found: DiscoveredFunction): ManifestFunction {
  return {
    name: found.name,
    module: found.module,
    is_async: found.isAsync,
    is_class: found.isClass,
    ...(found.isClass
      ? { class_methods: found.classMethods, method_parameters: found.methodParameters ?? {} }
      : {}),
    ...(found.httpMethod === null ? {} : { http_method: found.httpMethod, http_path: found.httpPath }),
    description: found.description,
    parameters: found.parameters,
  };
}

function registryEntries(endpoint: DiscoveredEndpoint): [string, string][] {
  return endpoint.functions.map(({ module, name }) => [`${module}.${name}`, endpoint.name]);
}

function routesOf(endpoint: DiscoveredEndpoint): Record<string, string> {
  return Object.fromEntries(
    endpoint.functions.map(({ httpMethod, httpPath, name }) => [`${httpMethod} ${httpPath}`, name]),
  );
}

/** The images of endpoints that do not name one. */
type RuntimeImages = {
  readonly gpu: string;
  readonly cpu: string;
  readonly loadBalancedGpu: string;
  readonly loadBalancedCpu: string;
};

const DEFAULT_TAG = "latest";

/** The images for a Python version; variables may name others. */
export function runtimeImages(
  environment: Readonly<Record<string, string | undefined>>,
  pythonVersion: string,
): RuntimeImages {
  const tag = `py${pythonVersion}-${environment["FLASH_IMAGE_TAG"] || DEFAULT_TAG}`;
  const image = (variable: string, name: string): string => environment[variable] || `edgerun/${name}:${tag}`;
  return {
    gpu: image("FLASH_GPU_IMAGE", "flash"),
    cpu: image("FLASH_CPU_IMAGE", "flash-cpu"),
    loadBalancedGpu: image("FLASH_LB_IMAGE", "flash-lb"),
    loadBalancedCpu: image("FLASH_CPU_LB_IMAGE", "flash-lb-cpu"),
  };
}

/** The image for an endpoint of this kind. */
export function imageFor(images: RuntimeImages, isLoadBalanced: boolean, isCpu: boolean): string {
  if (isLoadBalanced) return isCpu ? images.loadBalancedCpu : images.loadBalancedGpu;
  return isCpu ? images.cpu : images.gpu;
}
