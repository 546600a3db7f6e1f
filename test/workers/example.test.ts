import { afterEach, beforeEach, test, vi } from "vitest";
import { LEASE_MS } from "../../src/endpoint/queue/queue.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { fireAlarm, passTime } from "./object.ts";

const api = new EdgeClient();

beforeEach(api.signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

test("a result that arrives after its lease was lost is refused", async ({ expect }) => {
  const endpointId = await api.createEndpoint(); // its own: all tests of a file share their storage
  await api.call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(endpointId);
  const first = await agent.take(endpointId, workerId);

  passTime(LEASE_MS + 1); // time is moved by hand
  await fireAlarm(endpointId);

  const second = await agent.take(endpointId, workerId);
  expect(second).toMatchObject({ id: first.id, attempt: 2 });
  expect(await agent.complete(endpointId, first, "late")).toBe("refused");
});
