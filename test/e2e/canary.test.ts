/** A version that a share of the workers and jobs runs, under load: it goes back or on by itself. */
import { resolve } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { RolloutEndpoint } from "../support/rollout-endpoint.ts";
import { SteadyLoad } from "../support/steady-load.ts";

const WORKER = `"${process.execPath}" "${resolve(import.meta.dirname, "../support/worker-script.mjs")}"`;
const WORKERS = 2;
const CLIENTS = 3;
const PERCENT = 50;

let account: AccountHost;
beforeAll(async () => {
  account = await startAccountHost("canary", "process");
});
afterAll(async () => {
  await account.stop();
});

const open = async () =>
  await RolloutEndpoint.open(account, {
    ...{ imageName: "any:1", dockerArgs: WORKER },
    ...{ workers: WORKERS, env: { WORD: "one" } },
  });

async function change(
  { endpointId }: RolloutEndpoint,
  variables: Readonly<Record<string, string>>,
  canaryPercent = PERCENT,
) {
  const env = Object.entries(variables).map(([key, value]) => ({ key, value }));
  const api = managementApi(account.baseUrl, account.apiKey);
  await api.query("mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id } }", {
    input: { id: endpointId, env, canaryPercent },
  });
}

async function goBack({ endpointId }: RolloutEndpoint): Promise<void> {
  const api = managementApi(account.baseUrl, account.apiKey);
  await api.query("mutation ($input: RollbackEndpointInput) { rollbackEndpoint(input: $input) { id } }", {
    input: { endpointId },
  });
}

async function reasonsOf({ endpointId }: RolloutEndpoint): Promise<readonly (string | null)[]> {
  const api = managementApi(account.baseUrl, account.apiKey);
  const { myself } = await api.query<{
    myself: { endpoint: { releases: readonly { readonly reason: string | null }[] } };
  }>(`{ myself { endpoint(id: "${endpointId}") { releases { reason } } } }`);
  return myself.endpoint.releases.map(({ reason }) => reason);
}

test("one whose jobs fail goes back, and later jobs complete", async ({ expect }) => {
  await using endpoint = await open();
  await using load = new SteadyLoad({ ...account, endpointId: endpoint.endpointId }, CLIENTS, () => ({
    mock_env: "WORD",
  }));
  await load.untilOneSince(0);
  await change(endpoint, { WORD: "two", MOCK_FAIL: "This version fails." });
  await endpoint.untilReplaced(WORKERS, 3);
  const [reason] = await reasonsOf(endpoint);
  expect(reason).toMatch(/^canary of v2 went back to v1: \d+ of \d+ jobs failed, 0 of/);
  const replacedAt = performance.now();
  await load.untilOneSince(replacedAt);
  await load.stop();
  const failed = load.jobs.filter(({ reply }) => reply.status !== "COMPLETED");
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.length).toBeLessThanOrEqual(12);
  const last = load.jobs.filter(({ submittedAt }) => submittedAt >= replacedAt);
  expect(new Set(last.map(({ reply }) => reply.output))).toEqual(new Set(["one"]));
});

test("one without fault goes on, and no job fails", async ({ expect }) => {
  await using endpoint = await open();
  await using load = new SteadyLoad({ ...account, endpointId: endpoint.endpointId }, CLIENTS, () => ({
    mock_env: "WORD",
  }));
  await load.untilOneSince(0);
  await change(endpoint, { WORD: "two" });
  await endpoint.untilReplaced(WORKERS, 2);
  await load.stop();
  expect(load.jobs.filter(({ reply }) => reply.status !== "COMPLETED")).toEqual([]);
  expect(load.jobs.filter(({ reply }) => reply.output === "two").length).toBeGreaterThanOrEqual(100);
  expect(Math.max(...endpoint.samples.map(({ all }) => all))).toBeLessThanOrEqual(WORKERS + 1);
  expect(await reasonsOf(endpoint)).toEqual([null, null]);
});

test("nothing fails through a version that cannot start, its rollback, a slow canary and a good one", async ({
  expect,
}) => {
  await using endpoint = await open();
  await using load = new SteadyLoad({ ...account, endpointId: endpoint.endpointId }, 2 * CLIENTS, () => ({
    mock_env: "WORD",
  }));
  await change(endpoint, { WORD: "two", MOCK_EXIT_AT_START: "3" }, 0);
  await endpoint.until(({ release }) => (release?.stalledSince ?? null) !== null);
  await goBack(endpoint);
  await endpoint.untilReplaced(WORKERS, 3);
  await change(endpoint, { WORD: "slow", MOCK_DELAY: "0.3" });
  await endpoint.untilReplaced(WORKERS, 5);
  expect((await reasonsOf(endpoint))[0]).toMatch(/went back to v3: its jobs took [\d.]+ times as long/);
  await change(endpoint, { WORD: "good" });
  await endpoint.untilReplaced(WORKERS, 6);
  await load.stop();
  expect(load.jobs.filter(({ reply }) => reply.status !== "COMPLETED")).toEqual([]);
  expect(new Set(load.jobs.map(({ reply }) => reply.output))).toEqual(new Set(["one", "slow", "good"]));
});
