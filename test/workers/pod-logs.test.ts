import { beforeEach, test } from "vitest";
import type { LogLine } from "../../src/contract/agent/log.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

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
  await signInAsNewAccount();
  expect(await call("GET", path)).toMatchObject({ status: 404, body: { code: "pod_not_found" } });
});
