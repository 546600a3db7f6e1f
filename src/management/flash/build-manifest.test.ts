import { test } from "vitest";
import { isCompleteManifest, namedEndpoints, manifestIdentity } from "./build-manifest.ts";

const resource = { is_load_balanced: false, functions: [] };

test("a manifest is complete when every resource has an address", ({ expect }) => {
  const resources = { a: resource, toString: resource };
  expect(isCompleteManifest({ resources })).toBe(false);
  expect(isCompleteManifest({ resources, resources_endpoints: { a: "x" } })).toBe(false);
  expect(isCompleteManifest({ resources, resources_endpoints: { a: "x", toString: "y", gone: "z" } })).toBe(
    true,
  );
  expect(isCompleteManifest({ resources: {}, resources_endpoints: {} })).toBe(true);
});

test("endpoints are named by the resources that became one", ({ expect }) => {
  expect(namedEndpoints({ resources: { a: { ...resource, endpoint_id: "e" }, b: resource } })).toEqual(["e"]);
});

const worker = { is_load_balanced: false, functions: [{ name: "f", module: "m", is_async: true }] };
const manifest = { generated_at: "2026-01-01T00:00:00Z", project_name: "shop", resources: { a: worker } };

test("when it was made, where it is deployed and the order of members make no other build", ({ expect }) => {
  const deployed = {
    resources_endpoints: { a: "https://edge/v2/e" },
    resources: {
      a: {
        functions: [{ is_async: true, module: "m", name: "f" }],
        is_load_balanced: false,
        endpoint_id: "e",
        aiKey: "k",
      },
    },
    project_name: "shop",
    generated_at: "2027-01-01T00:00:00Z",
  };
  expect(manifestIdentity(deployed)).toBe(manifestIdentity(manifest));
});

test("whatever else differs makes another build, deep within as well", ({ expect }) => {
  const others = [
    { ...manifest, project_name: "other" },
    { ...manifest, resources: { b: worker } },
    { ...manifest, resources: { a: { ...worker, workersMax: 2 } } },
    { ...manifest, resources: { a: { ...worker, env: { aiKey: "mine" } } } },
    {
      ...manifest,
      resources: { a: { ...worker, functions: [{ name: "f", module: "m", is_async: false }] } },
    },
  ];
  const identities = [manifest, ...others].map(manifestIdentity);
  expect(new Set(identities).size).toBe(identities.length);
});
