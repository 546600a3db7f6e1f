import { resolve } from "node:path";
import { execa } from "execa";
import { describe, test } from "vitest";
import { GPU_TIERS } from "../../src/catalog/gpu-cards.ts";
import { readCpuInstance } from "../../src/catalog/cpu-flavors.ts";
import { findDataCenter } from "../../src/catalog/data-centers.ts";
import {
  EXECUTION_TIMEOUT_MAX_MS,
  EXECUTION_TIMEOUT_MIN_MS,
  NAME_MAX_CHARACTERS,
} from "../../src/contract/limits.ts";
import { MODELS_MAX, REFERENCE_MAX_CHARACTERS } from "../../src/contract/model.ts";
import { JSON_DEPTH_MAX } from "../../src/json/json-carver.ts";
import { IDLE_TIMEOUT_MAX_SECONDS, WORKERS_PER_ENDPOINT_MAX } from "../../src/contract/endpoint.ts";

const SCRIPT = `
import json
from edgerun import CpuInstanceType, DataCenter, gpu, json_value, model, scaling, settings
from edgerun.data_center import country_of
print(json.dumps({
    "tiers": {group.value: sorted(models) for group, models in gpu._MODELS.items()},
    "cpus": {cpu.value: cpu.disk_limit_gb for cpu in CpuInstanceType},
    "countries": {place.value: country_of(place.value) for place in DataCenter},
    "limits": [
        settings.NAME_MAX_CHARACTERS,
        settings.IDLE_TIMEOUT_MAX_SECONDS,
        settings.EXECUTION_TIMEOUT_MIN_MS,
        settings.EXECUTION_TIMEOUT_MAX_MS,
        json_value.DEPTH_MAX,
        scaling.WORKERS_MAX,
        model.MODELS_MAX,
        model.REFERENCE_MAX_CHARACTERS,
    ],
}))
`;

type Known = {
  readonly tiers: Readonly<Record<string, readonly string[]>>;
  readonly cpus: Readonly<Record<string, number>>;
  readonly countries: Readonly<Record<string, string>>;
  readonly limits: readonly number[];
};

async function known(): Promise<Known> {
  const source = resolve(import.meta.dirname, "../../sdk/python/src");
  const { stdout } = await execa("python3", ["-B", "-c", SCRIPT], { env: { PYTHONPATH: source } });
  return JSON.parse(stdout);
}

describe("the Python package and the service", () => {
  test("have the same GPUs, CPU instances, locations and limits", async ({ expect }) => {
    const { tiers, cpus, countries, limits } = await known();
    expect(tiers).toEqual(
      Object.fromEntries(Object.entries(GPU_TIERS).map(([tier, { models }]) => [tier, models.toSorted()])),
    );
    for (const [id, diskGb] of Object.entries(cpus)) {
      const reading = readCpuInstance(id);
      expect(reading).toMatchObject({ kind: "instance" });
      if (reading.kind !== "instance") continue;
      expect(diskGb, id).toBe(reading.instance.vcpus * reading.instance.flavor.diskGbPerVcpu);
    }
    for (const [id, country] of Object.entries(countries)) {
      expect(findDataCenter(id)?.countryCode, id).toBe(country);
    }
    expect(limits).toEqual([
      NAME_MAX_CHARACTERS,
      IDLE_TIMEOUT_MAX_SECONDS,
      EXECUTION_TIMEOUT_MIN_MS,
      EXECUTION_TIMEOUT_MAX_MS,
      JSON_DEPTH_MAX,
      WORKERS_PER_ENDPOINT_MAX,
      MODELS_MAX,
      REFERENCE_MAX_CHARACTERS,
    ]);
  });
});
