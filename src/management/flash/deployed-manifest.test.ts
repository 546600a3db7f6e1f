import { test } from "vitest";
import { isCompleteManifest, namedEndpoints } from "./deployed-manifest.ts";

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
