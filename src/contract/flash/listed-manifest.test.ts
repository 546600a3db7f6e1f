import { test } from "vitest";
import { flashManifestSchema } from "./flash-manifest.ts";
import { listedEndpoints, listedManifestSchema, readListedManifest } from "./listed-manifest.ts";

const queue = {
  ...{ kind: "queue", name: "hello", gpuCount: 1, workersMin: 0, workersMax: 3, idleTimeout: 60 },
  ...{ instanceIds: ["cpu3c-1-2"], module: "main", qualname: "hello", maxConcurrency: 2 },
};
const api = {
  ...{ kind: "api", name: "web", gpuCount: 1, workersMin: 0, workersMax: 1, idleTimeout: 60 },
  ...{ module: "main", qualname: "Web", routes: [{ method: "GET", path: "/", handler: "home" }] },
};

test("a list of resources becomes the stored form, which is valid", ({ expect }) => {
  const sent = { version: 1, app: "demo", pythonVersion: "3.11", resources: [queue, api] };
  const manifest = readListedManifest(listedManifestSchema.parse(sent));
  expect(flashManifestSchema.parse(manifest)).toEqual(manifest);
  expect(manifest).toMatchObject({
    version: "1",
    project_name: "demo",
    python_version: "3.11",
    resources: {
      hello: {
        is_load_balanced: false,
        makes_remote_calls: false,
        functions: [{ name: "hello", module: "main" }],
        max_concurrency: 2,
        workersMax: 3,
        instanceIds: ["cpu3c-1-2"],
      },
      web: { is_load_balanced: true, functions: [{ name: "Web", module: "main" }] },
    },
    routes: { web: { "GET /": "home" } },
  });
});

test("a list leads to an endpoint for each resource but a task", ({ expect }) => {
  const sent = { version: 1, resources: [queue, api, { ...queue, kind: "task", name: "once" }] };
  const manifest = readListedManifest(listedManifestSchema.parse(sent));
  expect(listedEndpoints(manifest)).toEqual(["hello", "web"]);
  const { is_load_balanced, functions } = manifest.resources["hello"] ?? {};
  expect(listedEndpoints({ resources: { hello: { is_load_balanced, functions } as never } })).toBeUndefined();
});

test("resources of one name and of unknown kinds are refused", ({ expect }) => {
  const paths = (resources: readonly object[]) =>
    listedManifestSchema.safeParse({ version: 1, resources }).error?.issues.map(({ path }) => path);
  expect(paths([queue, queue])).toEqual([["resources"]]);
  expect(paths([{ ...queue, kind: "cron" }])).toEqual([["resources", 0, "kind"]]);
});
