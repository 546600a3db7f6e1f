import { expect, test } from "vitest";
import type { FlashManifest, ManifestResource } from "../../src/contract/flash/flash-manifest.ts";
import { planWorkers, type WorkerPlan } from "./worker-plan.ts";

const QUEUE: ManifestResource = {
  is_load_balanced: false,
  functions: [],
  imageName: "edgerun/flash-cpu:py3.11-latest",
  instanceIds: ["cpu3c-2-4"],
};

function planOf(resource: Partial<ManifestResource>, manifest: Partial<FlashManifest> = {}): WorkerPlan {
  const { plans } = planWorkers({
    manifest: {
      project_name: "shop",
      source_fingerprint: "abc",
      resources: { worker: { ...QUEUE, ...resource } },
      ...manifest,
    },
    id: "0a1b2c",
    calls: { url: "http://127.0.0.1:4000", key: "key" },
    secrets: { HF: "hf_1" },
  });
  const [plan] = plans;
  if (!plan) throw new Error("There is no plan.");
  return plan;
}

test("a worker gets what a deployed one gets, of an environment called preview", () => {
  expect(planOf({ env: { LEVEL: "INFO" } })).toMatchObject({
    endpointId: "preview-worker",
    imageName: "edgerun/flash-cpu:py3.11-latest",
    hasArtifact: true,
    server: null,
    limits: { cpuMilli: 2_000, memoryMb: 4_000 },
    variables: {
      FLASH_ENVIRONMENT_ID: "preview-0a1b2c",
      FLASH_APP: "shop",
      FLASH_ENV: "preview",
      FLASH_RESOURCE_NAME: "worker",
      FLASH_ENDPOINT_TYPE: "qb",
      _FLASH_SOURCE_FINGERPRINT: "abc",
      LEVEL: "INFO",
    },
  });
});

test("only an endpoint whose code calls others gets a key (trap 6)", () => {
  expect(planOf({}).variables).not.toHaveProperty("SVC_API_KEY");
  expect(planOf({ makes_remote_calls: true }).variables).toMatchObject({
    SVC_API_KEY: "key",
    RUNPOD_API_KEY: "key",
    EDGERUN_URL: "http://127.0.0.1:4000",
  });
});

test("what the endpoint declares wins, its own references to secrets filled", () => {
  const template = { env: [{ key: "TOKEN", value: "{{ SECRET_HF }}" }] };
  const { variables } = planOf({ template, env: { FLASH_ENV: "mine" } });
  expect(variables).toMatchObject({ TOKEN: "hf_1", FLASH_ENV: "mine" });
  const live = planOf({ env: { FLASH_LIVE: "true", FLASH_LIVE_TOKEN: "mine" } }).variables;
  expect(Object.keys(live).filter((key) => key.startsWith("FLASH_LIVE"))).toEqual([]);
});

test("a load-balanced endpoint is told its ports, its own where it names them", () => {
  const { server, variables } = planOf({ is_load_balanced: true, env: { PORT: "8000" } });
  expect(server).toEqual({ port: 8_000, healthPort: 8_000, healthPath: "/ping" });
  expect(variables).toMatchObject({ PORT: "8000", PORT_HEALTH: "8000", FLASH_ENDPOINT_TYPE: "lb" });
  expect(() => planOf({ is_load_balanced: true, env: { PORT: "web" } })).toThrow(/PORT is "web"/);
});

test("an image of one's own gets no files of the app, and no fingerprint of them", () => {
  const plan = planOf({
    client_mode: true,
    imageName: "mine/own:1",
    template: { dockerArgs: "serve --fast" },
  });
  expect(plan).toMatchObject({ imageName: "mine/own:1", dockerArgs: "serve --fast", hasArtifact: false });
  expect(plan.variables).not.toHaveProperty("_FLASH_SOURCE_FINGERPRINT");
});

test("the first network volume is mounted, by its name", () => {
  expect(planOf({ networkVolumes: [{ name: "models", size: 10 }] }).volume).toBe("models");
  expect(planOf({ networkVolumeId: "vol1" }).volume).toBe("vol1");
  expect(planOf({}).volume).toBeUndefined();
});
