/** Models from a template to the hosts of a fleet: bytes are downloaded once per host, and the token stays there. */
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { layOutBundle } from "../support/edgerun.ts";
import { ModelHub } from "../support/model-hub.ts";
import { FleetRig } from "../support/rig/fleet-rig.ts";
import { until } from "../support/until.ts";

const TOKEN = "hf_of-this-test";
const WEIGHTS = randomBytes(2_000_000);
const CONFIG = "{}";
const BYTES = WEIGHTS.length + CONFIG.length;
const LIMIT_MS = 60_000;

let hub: ModelHub;
let rig: FleetRig;
let commit: string;
beforeAll(async () => {
  hub = await ModelHub.start();
  commit = hub.add("org/name", { "config.json": CONFIG, weights: WEIGHTS }, TOKEN);
  rig = await FleetRig.open(layOutBundle, { MODEL_SOURCE: hub.url });
});
afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

type Seen = { readonly workers: number; readonly models: readonly object[] | null };

/** Undefined while there is none. */
async function hostsWithModels(): Promise<readonly Seen[] | undefined> {
  const { myself } = await rig.api.query<{ myself: { hosts: readonly Seen[] } }>(
    "query { myself { hosts { workers models { id commit sizeBytes } } } }",
  );
  const found = myself.hosts.filter(({ models }) => (models ?? []).length > 0);
  return found.length > 0 ? found : undefined;
}

/** Files below a folder that have a text. */
async function filesWith(folder: string, text: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const contents = await Promise.all(paths.map((path) => readFile(path).catch(() => Buffer.alloc(0))));
  return paths.filter((_, index) => contents[index]?.includes(text));
}

test("each host downloads a model once, whatever number of workers it has, and reports it", async ({
  expect,
}) => {
  const hosts = [await rig.addHost({ name: "one" }), await rig.addHost({ name: "two" })];
  await rig.api.query(`mutation { secretCreate(input: { name: "HF", value: "${TOKEN}" }) { id } }`);
  const { saveEndpoint } = await rig.api.query<{ saveEndpoint: { id: string } }>(
    `mutation { saveEndpoint(input: { name: "chat", gpuIds: "AMPERE_16", workersMin: 1, workersMax: 4,
       template: { imageName: "none", dockerArgs: "sleep 1000", models: ["org/name"], modelTokenSecret: "HF" } }) { id } }`,
  );
  const [first] = await until(hostsWithModels, "a host with the model", LIMIT_MS);
  expect(first?.models).toEqual([{ id: "org/name", commit, sizeBytes: BYTES }]);
  expect(hub.sentBytes).toBe(BYTES);

  await rig.api.query(`mutation { saveEndpoint(input: { id: "${saveEndpoint.id}", workersMin: 4 }) { id } }`);
  const seen = await until(
    async () => {
      const all = await hostsWithModels();
      return all?.reduce((sum, { workers }) => sum + workers, 0) === 4 && all;
    },
    "four workers on hosts with the model",
    LIMIT_MS,
  );
  console.info(`${seen.length} of 2 hosts have the model with 4 workers; ${hub.sentBytes} bytes were sent.`);
  expect(hub.sentBytes).toBe(BYTES * seen.length);
  for (const host of hosts) expect(await filesWith(host.stateDirectory, TOKEN)).toEqual([]);
}, 180_000);
