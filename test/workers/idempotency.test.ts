import { afterEach, beforeEach, test, vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { endpointObject, evict, fireAlarm, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const submit = async (endpointId: string, operation: string, key: string, input: unknown = 1) =>
  (await call("POST", `/v2/${endpointId}/${operation}`, { input }, { "Idempotency-Key": key })).body;

test("the same key gives the same job, sent one after the other or all at once", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMax: 0");
  const first = await submit(endpointId, "run", "order-1");
  const again = await Promise.all(Array.from({ length: 5 }, () => submit(endpointId, "run", "order-1")));
  const together = await Promise.all(Array.from({ length: 5 }, () => submit(endpointId, "run", "order-2")));
  expect(new Set(again.map(({ id }) => id))).toEqual(new Set([first["id"]]));
  expect(new Set(together.map(({ id }) => id)).size).toBe(1);
  expect(together[0]?.["id"]).not.toBe(first["id"]);
  const { body } = await call("GET", `/v2/${endpointId}/health`);
  expect(body["jobs"]).toMatchObject({ inQueue: 2 });
});

test("a repeated runsync waits for the running job, also after an eviction", async ({ expect }) => {
  const endpointId = await createEndpoint();
  const agent = await ScriptedAgent.join(api);
  const first = submit(endpointId, "runsync", "key");
  const workerId = await agent.bringUpWorker(endpointId);
  const job = await agent.take(endpointId, workerId);
  await evict(endpointId);
  const second = submit(endpointId, "runsync", "key");
  await agent.complete(endpointId, job, "once");
  expect(await first).toMatchObject({ id: job.id, status: "COMPLETED", output: "once" });
  expect(await second).toMatchObject({ id: job.id, status: "COMPLETED", output: "once" });
  expect(await submit(endpointId, "run", "key")).toEqual({ id: job.id, status: "COMPLETED" });
});

test("the key is free again when its job is removed, and leaves no row", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMax: 0");
  const first = await submit(endpointId, "run", "key");
  passTime(86_400_000);
  const second = await submit(endpointId, "run", "key");
  expect(second["id"]).not.toBe(first["id"]);
  passTime(20_000);
  await fireAlarm(endpointId); // removes the old job, but not the key's new one
  expect((await submit(endpointId, "run", "key"))["id"]).toBe(second["id"]);
  passTime(2 * 86_400_000);
  await fireAlarm(endpointId);
  const { runInDurableObject } = await import("cloudflare:test");
  const left = await runInDurableObject(endpointObject(endpointId), (_, state) =>
    state.storage.sql.exec("SELECT * FROM idempotency").toArray(),
  );
  expect(left).toEqual([]);
});

test("a key of another endpoint is another key, and one that is too long is refused", async ({ expect }) => {
  const [one, other] = [await createEndpoint("workersMax: 0"), await createEndpoint("workersMax: 0")];
  expect((await submit(one, "run", "key"))["id"]).not.toBe((await submit(other, "run", "key"))["id"]);
  expect(await submit(one, "run", "k".repeat(256))).toMatchObject({ code: "invalid_input" });
});

test("the payload of a repeated call is not kept", async ({ expect }) => {
  const { env } = await import("cloudflare:workers");
  const endpointId = await createEndpoint("workersMax: 0");
  const large = "x".repeat(400_000);
  await submit(endpointId, "run", "key", large);
  await submit(endpointId, "run", "key", large);
  const kept = async () => (await env.PAYLOADS.list({ prefix: `jobs/${endpointId}/` })).objects.length;
  await vi.waitUntil(async () => (await kept()) === 1);
  expect(await kept()).toBe(1);
});
