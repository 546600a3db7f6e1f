import { expect, test } from "vitest";
import { flashManifestSchema } from "../../src/contract/flash/flash-manifest.ts";
import { discoveredEndpoint, discoveredFunction, discoveryReport } from "../../test/support/discovered.ts";
import type { DiscoveredEndpoint } from "../discovery/discovery-report.ts";
import { runtimeImages, toManifest } from "./manifest.ts";

const OPTIONS = {
  appName: "shop",
  pythonVersion: "3.12",
  images: runtimeImages({}, "3.12"),
  fingerprint: "abc",
  excludedPackages: ["torch"],
  generatedAt: "2026-11-22T00:00:00Z",
};

function manifestOf(...endpoints: DiscoveredEndpoint[]) {
  return flashManifestSchema.parse(toManifest(discoveryReport(endpoints), OPTIONS));
}

const QUEUE = discoveredEndpoint({
  name: "gpu-worker",
  filePath: "sub/gpu.py",
  modulePath: "sub.gpu",
  resource: { gpuIds: "ADA_24", workersMin: 0, workersMax: 3, max_concurrency: 2, is_load_balanced: false },
  functions: [
    discoveredFunction({ name: "hello", module: "sub.gpu", isAsync: true, description: "Says hello." }),
  ],
  makesRemoteCalls: true,
});

const BALANCED = discoveredEndpoint({
  name: "api",
  filePath: "api.py",
  modulePath: "api",
  configVariable: "api",
  isLoadBalanced: true,
  resource: { instanceIds: ["cpu3c-1-2"], is_load_balanced: true },
  functions: [
    discoveredFunction({ name: "process", module: "api", httpMethod: "POST", httpPath: "/process" }),
    discoveredFunction({ name: "health", module: "api", httpMethod: "GET", httpPath: "/health" }),
  ],
});

test("a manifest describes the app and maps functions to endpoints", () => {
  expect(manifestOf(QUEUE, BALANCED)).toMatchObject({
    version: "1.0",
    generated_at: "2026-11-22T00:00:00Z",
    project_name: "shop",
    python_version: "3.12",
    sdk_version: "0.1.0",
    source_fingerprint: "abc",
    excluded_packages: ["torch"],
    function_registry: { "api.process": "api", "api.health": "api", "sub.gpu.hello": "gpu-worker" },
    routes: { api: { "POST /process": "process", "GET /health": "health" } },
  });
});

test("a queue-based endpoint has a handler file, and its path is its name", () => {
  expect(manifestOf(QUEUE).resources["gpu-worker"]).toEqual({
    resource_type: "LiveServerless",
    is_load_balanced: false,
    is_live_resource: false,
    file_path: "sub/gpu.py",
    local_path_prefix: "/gpu-worker",
    module_path: "sub.gpu",
    config_variable: null,
    makes_remote_calls: true,
    target_python_version: "3.12",
    handler_file: "handler_gpu-worker.py",
    functions: [
      {
        name: "hello",
        module: "sub.gpu",
        is_async: true,
        is_class: false,
        description: "Says hello.",
        parameters: [],
      },
    ],
    imageName: "edgerun/flash:py3.12-latest",
    gpuIds: "ADA_24",
    env: {},
    workersMin: 0,
    workersMax: 3,
    max_concurrency: 2,
  });
});

test("every resource has gpuIds and env, even when not declared", () => {
  expect(manifestOf(BALANCED).resources["api"]).toMatchObject({ gpuIds: "", env: {} });
  const own = manifestOf({ ...QUEUE, resource: { gpuIds: "ADA_24", env: { A: "1" } } });
  expect(own.resources["gpu-worker"]).toMatchObject({ gpuIds: "ADA_24", env: { A: "1" } });
});

test("a load-balanced endpoint has routes and no handler file", () => {
  const { api } = manifestOf(BALANCED).resources;
  expect(api).toMatchObject({
    resource_type: "CpuLiveLoadBalancer",
    is_load_balanced: true,
    config_variable: "api",
    imageName: "edgerun/flash-lb-cpu:py3.12-latest",
    functions: [{ http_method: "POST", http_path: "/process" }, { http_method: "GET" }],
  });
  expect(api).not.toHaveProperty("handler_file");
});

test("without a load-balanced endpoint there are no routes", () => {
  expect(manifestOf(QUEUE)).not.toHaveProperty("routes");
});

test("the kind of an endpoint decides its resource type and image", () => {
  const kinds = [
    { ...QUEUE, name: "a" },
    { ...QUEUE, name: "b", resource: { instanceIds: ["cpu3c-1-2"] } },
    { ...BALANCED, name: "c", resource: { gpuIds: "ADA_24" } },
    { ...BALANCED, name: "d" },
  ];
  const { resources } = manifestOf(...kinds);
  expect(Object.values(resources).map((one) => [one.resource_type, one.imageName])).toEqual([
    ["LiveServerless", "edgerun/flash:py3.12-latest"],
    ["CpuLiveServerless", "edgerun/flash-cpu:py3.12-latest"],
    ["LiveLoadBalancer", "edgerun/flash-lb:py3.12-latest"],
    ["CpuLiveLoadBalancer", "edgerun/flash-lb-cpu:py3.12-latest"],
  ]);
});

test("declared settings are copied unchanged", () => {
  const resource = {
    gpuCount: 2,
    executionTimeoutMs: 60_000,
    flashBootType: "OFF" as const,
    env: { A: "b" },
    template: { containerDiskInGb: 99, imageName: "mine/base:1", env: [{ key: "C", value: "d" }] },
  };
  const { "gpu-worker": worker } = manifestOf({ ...QUEUE, resource }).resources;
  expect(worker).toMatchObject({ ...resource, imageName: "mine/base:1" });
});

test("an endpoint with its own image keeps it and has no code", () => {
  const own = discoveredEndpoint({
    name: "vllm",
    isClient: true,
    resource: { imageName: "vllm/vllm-openai:v1", client_mode: true, gpuIds: "AMPERE_80" },
    functions: [],
  });
  const { vllm } = manifestOf(own).resources;
  expect(vllm).toMatchObject({ client_mode: true, imageName: "vllm/vllm-openai:v1", functions: [] });
  expect(vllm).not.toHaveProperty("handler_file");
});

test("the same function name in two endpoints is registered twice", () => {
  const of = (name: string) =>
    discoveredEndpoint({ name, functions: [discoveredFunction({ name: "predict", module: name })] });
  expect(manifestOf(of("one"), of("two")).function_registry).toEqual({
    "one.predict": "one",
    "two.predict": "two",
  });
});

test("public methods of a class are listed with their parameters", () => {
  const text = { name: "text", kind: "positional", annotation: "str", isRequired: true } as const;
  const methodParameters = { run: [text], stop: [] };
  const worker = discoveredEndpoint({
    functions: [discoveredFunction({ isClass: true, classMethods: ["run", "stop"], methodParameters })],
  });
  expect(manifestOf(worker).resources["worker"]?.functions[0]).toMatchObject({
    is_class: true,
    class_methods: ["run", "stop"],
    method_parameters: methodParameters,
  });
  const ofFunction = manifestOf(QUEUE).resources["gpu-worker"]?.functions[0];
  expect(ofFunction).not.toHaveProperty("class_methods");
  expect(ofFunction).not.toHaveProperty("method_parameters");
});

test("the order in which endpoints were found does not change the manifest", () => {
  const text = (...endpoints: DiscoveredEndpoint[]) =>
    JSON.stringify(toManifest(discoveryReport(endpoints), OPTIONS));
  expect(text(QUEUE, BALANCED)).toBe(text(BALANCED, QUEUE));
});
