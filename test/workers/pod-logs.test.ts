import { beforeEach, test } from "vitest";
import type { LogLine } from "../../src/contract/agent/log.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { POD_CARD, PodAgent } from "./pod-agent.ts";

const api = new EdgeClient();
const { call, createEndpoint, openEvents, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

test("a worker that is there shows its last lines to clients that know its id alone", async ({ expect }) => {
  const endpointId = await createEndpoint();
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const seq = Date.now() * 1_000;
  const lines: LogLine[] = [
    { seq, source: "system", line: "The container was started." },
    { seq: seq + 1, source: "container", line: "hello" },
    { seq: seq + 2, source: "container", line: "world" },
  ];
  await agent.sendLogs([{ endpointId, workerId, lines }]);
  const path = `/v1/pod/${workerId}/logs`;
  expect((await call("GET", path)).body).toEqual({
    container: ["hello", "world"],
    system: ["The container was started."],
  });
  expect((await call("GET", `${path}?type=system&tail=1`)).body).toEqual({
    container: [],
    system: ["The container was started."],
  });
  expect(await call("GET", `${path}?type=none`)).toMatchObject({ status: 400 });
  await signInAsNewAccount();
  expect(await call("GET", path)).toMatchObject({ status: 404, body: { code: "pod_not_found" } });
});

test("with stream=true the lines of a worker come as events", async ({ expect }) => {
  const endpointId = await createEndpoint("workersMin: 1");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const seq = Date.now() * 1_000;
  const lines: LogLine[] = [
    { seq, source: "system", line: "The container was started." },
    { seq: seq + 1_000, source: "container", line: "hello" },
  ];
  await agent.sendLogs([{ endpointId, workerId, lines }]);
  await using events = await openEvents(`/v1/pod/${workerId}/logs?stream=true&type=all&tail=5`);
  expect([await events.next(), await events.next()]).toMatchObject([
    { data: { source: "system", line: "The container was started." } },
    { data: { source: "container", line: "hello" } },
  ]);
});

test("a pod shows its lines, and follows those that come, in all APIs", async ({ expect }) => {
  const host = await PodAgent.join(api);
  const created = await call("POST", "/v1/pods", { imageName: "a:1", gpuTypeIds: [POD_CARD] });
  const id = String(created.body["id"]);
  await host.follow();
  let seq = Date.now() * 1_000;
  const write = async (line: string) => {
    seq += 1_000;
    const lines: LogLine[] = [{ seq, source: "container", line }];
    await host.agent.sendLogs([{ endpointId: id, workerId: id, lines }]);
  };
  await write("hello");
  expect((await call("GET", `/v1/pod/${id}/logs`)).body).toEqual({ container: ["hello"], system: [] });

  await using events = await openEvents(`/v2/pods/${id}/logs?tail=5`);
  expect(await events.next()).toMatchObject({ data: { source: "container", line: "hello" } });
  await write("world");
  expect(await events.next()).toMatchObject({ data: { source: "container", line: "world" } });
  expect(await call("GET", `/v2/pods/${id}/logs?colour=red`)).toMatchObject({ status: 422 });
});
