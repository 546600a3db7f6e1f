import { expect, test } from "vitest";
import { liveRequestSchema } from "../../../src/contract/flash/flash-live.ts";
import {
  LIVE_ARGUMENTS_MAX_BYTES,
  LIVE_SOURCES_MAX_BYTES,
} from "../../../src/contract/flash/flash-limits.ts";
import type { ManifestFunction } from "../../../src/contract/flash/flash-manifest.ts";
import { CallFailure } from "../../server/requests/served-app.ts";
import type { LiveEndpoint } from "../app/live-app.ts";
import {
  checkArguments,
  functionCall,
  hashesOf,
  requestJson,
  routeCall,
  sourcesOf,
  LIVE_SOURCES_SMALL_BYTES,
} from "./live-request.ts";

function endpoint(
  name: string,
  {
    peers = [],
    called = {},
  }: { readonly peers?: readonly string[]; readonly called?: Partial<ManifestFunction> } = {},
): LiveEndpoint {
  return {
    name,
    resource: { is_load_balanced: false, functions: [{ name, module: name, parameters: [], ...called }] },
    code: {
      execution_type: called.is_class ? "class" : "function",
      module: name,
      function_name: name,
      modules: { [`${name}.py`]: hash(name), "shared.py": hash("shared") },
      dependencies: [],
      system_dependencies: [],
      accelerate_downloads: true,
    },
    peers,
    filePath: `${name}.py`,
    line: 1,
  };
}

function hash(name: string): string {
  return Buffer.from(name).toString("hex").padEnd(64, "0");
}

test("a call has arguments by name, and becomes a live request with its sources", () => {
  const call = functionCall({ endpoint: endpoint("a"), all: [], input: '{"x":1}' });
  expect(call).toMatchObject({
    execution_type: "function",
    function_name: "a",
    kwargs: '{"x":1}',
    peers: {},
  });
  const request: unknown = JSON.parse(requestJson(call, {}));
  expect(liveRequestSchema.parse(request)).toEqual({ ...call, kwargs: { x: 1 }, sources: {} });
});

test("arguments are sent as they were written", () => {
  const input = '{ "x": 1e400, "x":-0,"seed":18446744073709551615, "t":"\\ud800\\u0041é" }';
  const text = requestJson(functionCall({ endpoint: endpoint("a"), all: [], input }), {});
  expect(text).toContain(`"kwargs":${input}}`);
});

test("peers of peers are included once, without unreadable ones", () => {
  const broken = { ...endpoint("d"), problem: "d.py:1: invalid syntax" };
  const all = [
    endpoint("a", { peers: ["b", "d"] }),
    endpoint("b", { peers: ["c", "a"] }),
    endpoint("c", { peers: ["b"] }),
    broken,
  ];
  const [first] = all;
  if (!first) throw new Error("no endpoint");
  expect(Object.keys(functionCall({ endpoint: first, all, input: "{}" }).peers).toSorted()).toEqual([
    "a",
    "b",
    "c",
  ]);
});

test("sources are all files that have not been sent", () => {
  const all = [endpoint("a", { peers: ["b"] }), endpoint("b")];
  const [first] = all;
  if (!first) throw new Error("no endpoint");
  const call = functionCall({ endpoint: first, all, input: "{}" });
  expect(hashesOf(call).toSorted()).toEqual([hash("a"), hash("b"), hash("shared")].toSorted());
  const sent = (text: string) =>
    Object.keys(sourcesOf(call, () => text, new Set([hash("shared")]))).toSorted();
  expect(sent("x".repeat(LIVE_SOURCES_SMALL_BYTES))).toEqual([hash("a"), hash("b")].toSorted());
  // So a job of a small app can be tried again by any worker.
  expect(sent("small")).toEqual(hashesOf(call).toSorted());
});

test("sources that are too large in total are rejected with their size", () => {
  const call = functionCall({ endpoint: endpoint("a"), all: [], input: "{}" });
  const text = "x".repeat(LIVE_SOURCES_MAX_BYTES / 2 + 1);
  expect(() => sourcesOf(call, () => text, new Set())).toThrow(CallFailure);
  expect(() => sourcesOf(call, () => text, new Set([hash("shared")]))).not.toThrow();
});

test("a request to a route carries all routes of its endpoint", () => {
  const called = { http_method: "POST", http_path: "/things/{id}" };
  const http = { method: "POST", path: "/things/1", query: "a=b", headers: [], body_base64: "" };
  const call = routeCall({ endpoint: endpoint("api", { called }), all: [], http });
  expect(call.routes).toEqual([
    { method: "POST", path: "/things/{id}", module: "api", function_name: "api" },
  ]);
  expect(liveRequestSchema.parse({ ...call, sources: {} }).http).toEqual(http);
});

test("arguments and bodies that are too large are rejected with their size", () => {
  const text = "x".repeat(LIVE_ARGUMENTS_MAX_BYTES);
  const call = functionCall({ endpoint: endpoint("a"), all: [], input: JSON.stringify({ text }) });
  expect(() => checkArguments(call)).toThrow(CallFailure);
  const http = { method: "POST", path: "/", query: "", headers: [] };
  const body = (bytes: number) => Buffer.alloc(bytes).toString("base64");
  const route = (bytes: number) =>
    routeCall({ endpoint: endpoint("a"), all: [], http: { ...http, body_base64: body(bytes) } });
  expect(() => checkArguments(route(LIVE_ARGUMENTS_MAX_BYTES + 1))).toThrowErrorMatchingInlineSnapshot(
    `[CallFailure: The arguments have 10000001 bytes; live workers accept 10000000. Send a URL of large data instead.]`,
  );
  expect(() => checkArguments(route(LIVE_ARGUMENTS_MAX_BYTES))).not.toThrow();
});
