import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import type { FlashManifest, ManifestParameter } from "../../src/contract/flash/flash-manifest.ts";
import { exampleCalls } from "./endpoint-urls.ts";

const parameter = (name: string, annotation: string | null = null, isRequired = true): ManifestParameter => ({
  name,
  kind: "positional",
  annotation,
  isRequired,
});

const manifest: FlashManifest = {
  resources: {
    greet: {
      is_load_balanced: false,
      functions: [
        { name: "greet", module: "app", parameters: [parameter("name", "str"), parameter("times", "int")] },
      ],
    },
    model: {
      is_load_balanced: false,
      functions: [
        {
          name: "Model",
          module: "app",
          is_class: true,
          class_methods: ["load", "predict"],
          parameters: [],
          method_parameters: { load: [parameter("path", "str")], predict: [parameter("text", "str")] },
        },
      ],
    },
    tick: { is_load_balanced: false, functions: [{ name: "tick", module: "app", parameters: [] }] },
    api: {
      is_load_balanced: true,
      functions: [
        { name: "process", module: "app", parameters: [parameter("input_data", "dict")] },
        { name: "item", module: "app", parameters: [parameter("item_id", "int"), parameter("q", "str")] },
        { name: "said", module: "app", parameters: [{ ...parameter("text"), default: "it's" }] },
      ],
    },
  },
  routes: { api: { "POST /process": "process", "GET /items/{item_id}": "item", "PUT /said": "said" } },
};

/** The arguments of a call, as a shell parses them. */
function argumentsOf(call: string): readonly string[] {
  const commands = `flash() { [ "$*" = "auth token" ] && echo the-key; }\ncurl() { printf '%s\\0' "$@"; }`;
  return execFileSync("sh", ["-c", `${commands}\n${call}`], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1);
}

const body = (call: string | undefined) => JSON.parse(argumentsOf(call ?? "").at(-1) ?? "") as unknown;

describe("a call that is shown", () => {
  test("of a queue wraps the function's parameters", () => {
    const [call = ""] = exampleCalls(manifest, "greet", "http://127.0.0.1:8787/v2/abc");
    expect(argumentsOf(call)).toEqual([
      "-X",
      "POST",
      "http://127.0.0.1:8787/v2/abc/runsync",
      "-H",
      "Authorization: Bearer the-key",
      "-H",
      "Content-Type: application/json",
      "-d",
      '{"input":{"name":"hello","times":1}}',
    ]);
  });

  test("of a function without parameters has an empty input", () => {
    expect(body(exampleCalls(manifest, "tick", "http://x/v2/a")[0])).toEqual({ input: {} });
  });

  test("of a class with several methods names one and has its arguments", () => {
    const call = exampleCalls(manifest, "model", "http://x/v2/a")[0];
    expect(body(call)).toEqual({ input: { method: "load", path: "hello" } });
  });

  test("of a route has its arguments where the route expects them", () => {
    const [process, item, said] = exampleCalls(manifest, "api", "http://x/lb/a");
    expect(body(process)).toEqual({ input_data: { message: "hello" } });
    expect(argumentsOf(item ?? "")).toContain("http://x/lb/a/items/1?q=hello");
    expect(argumentsOf(item ?? "")).not.toContain("-d");
    expect(body(said)).toEqual({ text: "it's" });
  });
});
