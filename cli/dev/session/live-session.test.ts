import { expect, test } from "vitest";
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import { configurationHash, toLiveInput } from "./live-session.ts";

const resource: ManifestResource = {
  is_load_balanced: false,
  functions: [],
  imageName: "edgerun/flash:py3.12-latest",
  gpuIds: "ADA_24",
  env: { MODEL: "small" },
  max_concurrency: 4,
};
const variables = (changes: Partial<ManifestResource>) =>
  toLiveInput({ name: "one", resource: { ...resource, ...changes } }, []).template.env;
const hashOf = (changes: Partial<ManifestResource>) =>
  configurationHash({ name: "one", resource: { ...resource, ...changes } });

test("workers receive the concurrency, and no fingerprint", () => {
  expect(variables({})).toEqual([
    { key: "MODEL", value: "small" },
    { key: "_FLASH_MAX_CONCURRENCY", value: "4" },
  ]);
  expect(variables({ max_concurrency: 1 })).toEqual([{ key: "MODEL", value: "small" }]);
  expect(variables({ client_mode: true })).toEqual([{ key: "MODEL", value: "small" }]);
});

test("the hash changes with any part of the configuration, and only then", () => {
  const others: Partial<ManifestResource>[] = [
    { workersMax: 3 },
    { env: { MODEL: "large" } },
    { max_concurrency: 5 },
    { imageName: "edgerun/flash:py3.13-latest" },
    { networkVolume: { name: "models", size: 10, dataCenterId: "EU-RO-1" } },
    { template: { containerDiskInGb: 10 } },
  ];
  const hashes = [{}, ...others].map(hashOf);
  expect(new Set(hashes).size).toBe(hashes.length);
  const unsaid: Partial<ManifestResource> = {
    file_path: "b.py",
    workersMin: 0,
    target_python_version: "3.12",
  };
  expect(hashOf(unsaid)).toBe(hashOf({}));
});
