/** The memory of the edge while others send it the most that it takes. */
import { LOG_UNPACKED_MAX_BYTES } from "../../src/contract/agent/log.ts";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { syncReplySchema } from "../../src/contract/agent/agent.ts";
import { startLoneEdge, type LoneEdge } from "../support/lone-edge.ts";
import { createEndpoint } from "../support/management-client.ts";

const LINE = "y".repeat(32_000);
const WORKERS = 12;
const INVENTORY = {
  gpus: Array.from({ length: WORKERS }, (_, index) => {
    return { index, name: "Simulated", tier: "AMPERE_16", memoryMb: 16_000, isSimulated: true };
  }),
  cpuCount: 64,
  memoryMb: 512_000,
  diskFreeMb: 1_000_000,
  runtime: "process",
};
const zip = promisify(gzip);

async function joinHost({ baseUrl, apiKey }: LoneEdge): Promise<string> {
  const { joinTokenCreate } = await managementApi(baseUrl, apiKey).query<{
    joinTokenCreate: { token: string };
  }>("mutation { joinTokenCreate { token } }");
  const body = JSON.stringify({
    joinToken: joinTokenCreate.token,
    name: "host",
    agentVersion: "test",
    inventory: INVENTORY,
  });
  const joined = await fetch(`${baseUrl}/agent/v1/join`, { method: "POST", body });
  return ((await joined.json()) as { hostToken: string }).hostToken;
}

/** The workers of the endpoint that the fleet places on the host: a host is believed of no others. */
async function placedWorkers({ baseUrl }: LoneEdge, authorization: string): Promise<readonly string[]> {
  for (let appliedRevision = 0; ;) {
    const sync = { agentVersion: "test", inventory: INVENTORY, workers: [], appliedRevision };
    const headers = { authorization };
    const body = JSON.stringify({ ...sync, holdMs: appliedRevision === 0 ? 0 : 5_000 });
    const answer = await fetch(`${baseUrl}/agent/v1/sync`, { method: "POST", headers, body });
    const { revision, assignments } = syncReplySchema.parse(await answer.json());
    if (assignments.length === WORKERS) return assignments.map(({ workerId }) => workerId);
    appliedRevision = revision;
  }
}

/** Megabytes by which the process is larger at its largest moment than it was before. */
async function growthDuring(pid: number, act: () => Promise<unknown>): Promise<number> {
  const megabytes = async (name: string): Promise<number> => {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024;
  };
  await writeFile(`/proc/${pid}/clear_refs`, "5"); // the largest moment is counted from now on
  const before = await megabytes("VmRSS");
  await act();
  return (await megabytes("VmHWM")) - before;
}

test("a search through the largest logs that a host may send takes little memory", async ({ expect }) => {
  await using edge = await startLoneEdge();
  const { baseUrl, apiKey } = edge;
  const endpointId = await createEndpoint(edge, {
    name: "logs",
    imageName: "x/y",
    gpuIds: "AMPERE_16",
    workersMin: WORKERS,
    workersMax: WORKERS,
  });
  const authorization = `Bearer ${await joinHost(edge)}`;
  const now = Date.now();
  const count = Math.floor((LOG_UNPACKED_MAX_BYTES * 0.95) / LINE.length);
  for (const workerId of await placedWorkers(edge, authorization)) {
    const lines = Array.from({ length: count }, (_, index) => {
      return { seq: (now - 60_000) * 1_000 + index, source: "container", line: LINE };
    });
    const workers = [{ endpointId, workerId, lines }];
    const body = new Uint8Array(await zip(JSON.stringify({ now, isLive: false, workers })));
    const sent = await fetch(`${baseUrl}/agent/v1/logs`, {
      method: "POST",
      headers: { authorization },
      body,
    });
    expect(sent.status).toBe(200);
  }

  const search = async () => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const found = await fetch(`${baseUrl}/v2/${endpointId}/logs?search=x`, { headers });
    expect(await found.json()).toMatchObject({ lines: [], cursor: expect.any(String) });
  };
  expect(await growthDuring(edge.pid(), search)).toBeLessThan(120);
});

test("bodies of millions of values are refused before they are made", async ({ expect }) => {
  await using edge = await startLoneEdge();
  const { baseUrl, apiKey } = edge;
  const endpointId = await createEndpoint(edge, { name: "bodies", imageName: "x/y" });
  const hostToken = await joinHost(edge);
  const many = (bytes: number) => `{"zz":[${"{},".repeat(bytes / 3)}{}]}`;
  const calls = [
    { path: `agent/v1/endpoints/${endpointId}/exchange`, key: hostToken, body: many(9_900_000) },
    { path: `v2/${endpointId}/batch`, key: apiKey, body: many(9_900_000) },
    { path: "agent/v1/logs", key: hostToken, body: new Uint8Array(await zip(many(15_000_000))) },
  ];
  const statuses = new Set<number>();
  const growth = await growthDuring(edge.pid(), async () => {
    for (const { path, key, body } of [...calls, ...calls]) {
      const headers = { authorization: `Bearer ${key}` };
      const { status } = await fetch(`${baseUrl}/${path}`, { method: "POST", headers, body });
      statuses.add(status);
    }
  });
  expect([...statuses].toSorted((a, b) => a - b)).toEqual([400, 413]);
  expect(growth).toBeLessThan(150);
});
