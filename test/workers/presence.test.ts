import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { PRESENCE_BEAT, PRESENCE_REPLACED } from "../../src/contract/agent.ts";
import { AGENT_HOLD_MAX_MS, HOST_GRACE_MS } from "../../src/contract/limits.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { fleetObject, passTime } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const alarmOfFleet = () => runInDurableObject(fleetObject(), (_, { storage }) => storage.getAlarm());

/** A host with a job on its worker, whose sync is held for as long as may be. */
async function busyHost(presence: string) {
  const endpointId = await createEndpoint();
  const host = await ScriptedAgent.join(api, "busy");
  await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const workerId = await host.bringUpWorker(endpointId);
  await host.take(endpointId, workerId);
  const workers = [{ workerId, endpointId, revision: 1, state: "ready" as const }];
  const { revision } = await host.sync({ workers });
  const parked = host.sync({ workers, appliedRevision: revision, holdMs: AGENT_HOLD_MAX_MS, presence });
  while ((await bellsOfHost(host.hostId)) === 0) await scheduler.wait(5);
  return { endpointId, host, parked };
}

const bellsOfHost = (hostId: string) =>
  runInDurableObject(fleetObject(), (_, state) => state.getWebSockets(`host:${hostId}`).length);

/** Closes a presence; resolves once the edge has dealt with it. */
async function close(presence: WebSocket): Promise<void> {
  const closed = new Promise((resolve) => presence.addEventListener("close", resolve));
  presence.close();
  await closed;
}

/** The worker that another host of the account gets for the endpoint now. */
async function replacementOn(other: ScriptedAgent, endpointId: string) {
  await other.sync();
  await runDurableObjectAlarm(fleetObject());
  const { assignments } = await other.sync();
  return assignments.find((assignment) => assignment.endpointId === endpointId);
}

describe("a host's presence", () => {
  test("answers its beats", async ({ expect }) => {
    const host = await ScriptedAgent.join(api);
    const presence = await host.openPresence("one");
    const answer = new Promise<unknown>((resolve) =>
      presence.addEventListener("message", ({ data }) => resolve(data), { once: true }),
    );
    presence.send(PRESENCE_BEAT);
    expect(await answer).toBe(PRESENCE_BEAT);
    presence.close(1000, PRESENCE_REPLACED);
  });

  test.for(["hibernates before", "hibernates after", "is awake"])(
    "that ends lets the host be lost soon, whatever its sync promised, when Fleet %s",
    async (fleet, { expect }) => {
      const { endpointId, host, parked } = await busyHost("only");
      const presence = await host.openPresence("only");
      if (fleet === "hibernates before") await evictDurableObject(fleetObject());
      await close(presence);
      const endedAt = Date.now();
      while (((await alarmOfFleet()) ?? Infinity) > endedAt + HOST_GRACE_MS) await scheduler.wait(5);
      if (fleet === "hibernates after") await evictDurableObject(fleetObject());
      await alarmOfFleet(); // wakes it: from then on who is silent has the time to come back
      const other = await ScriptedAgent.join(api, "other");

      passTime(HOST_GRACE_MS - 1);
      expect(await replacementOn(other, endpointId)).toBeUndefined();
      passTime(1);
      expect(await replacementOn(other, endpointId)).toMatchObject({ endpointId });
      expect((await parked).assignments).toMatchObject([{ endpointId }]); // as it was when the news came
    },
  );

  test("of whose silence Fleet hears late is given up in that moment", async ({ expect }) => {
    const { endpointId, host, parked } = await busyHost("late");
    const other = await ScriptedAgent.join(api, "other");
    await other.sync({ holdMs: AGENT_HOLD_MAX_MS, appliedRevision: 0 });
    const silentSince = Date.now();
    passTime(HOST_GRACE_MS + 2_000);
    await fleetObject().hostSilent(host.hostId, "late", silentSince);
    const { assignments } = await other.sync();
    expect(assignments).toMatchObject([{ endpointId }]);
    expect((await parked).assignments).toEqual([]);
  });

  test("that the host has replaced may end", async ({ expect }) => {
    const { endpointId, host, parked } = await busyHost("second");
    const first = await host.openPresence("first");
    await host.openPresence("second");
    await close(first);
    const other = await ScriptedAgent.join(api, "other");

    passTime(AGENT_HOLD_MAX_MS + HOST_GRACE_MS - 1);
    expect(await replacementOn(other, endpointId)).toBeUndefined();
    passTime(1); // what its sync promised is over now
    expect(await replacementOn(other, endpointId)).toMatchObject({ endpointId });
    expect((await parked).assignments).toEqual([]);
  });

  test("needs a host's token, a name and an upgrade", async ({ expect }) => {
    const host = await ScriptedAgent.join(api);
    await expect(host.openPresence("no name!")).rejects.toThrow("id: name the presence");
    const response = await call("GET", "/agent/v1/presence?id=x");
    expect(response.status).toBe(401);
  });
});
