import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe } from "vitest";
import { PRESENCE_BEAT, PRESENCE_REPLACED } from "../../src/contract/agent/agent.ts";
import { AGENT_HOLD_MAX_MS } from "../../src/contract/limits.ts";
import { passTime } from "./object.ts";
import { test, type FleetHarness, type TestEndpoint, type TestHost } from "./support/fleet-harness.ts";
import { notYet, soon, until } from "./support/until.ts";
import { HOST_GRACE_MS } from "../../src/fleet/hosts/host-presence.ts";

const alarmOf = ({ object }: FleetHarness) =>
  runInDurableObject(object, (_, { storage }) => storage.getAlarm());

/** A host with a job on its worker, whose sync waits for as long as may be. */
async function busyHost(fleet: FleetHarness, presence: string) {
  const endpoint = await fleet.endpoint();
  const host = await fleet.host({ name: "busy" });
  const { agent } = host;
  await endpoint.submit();
  const workerId = await agent.bringUpWorker(endpoint.id);
  await agent.take(endpoint.id, workerId);
  const workers = [{ workerId, endpointId: endpoint.id, revision: 1, state: "ready" as const }];
  const { revision } = await agent.sync({ workers });
  const waiting = agent.sync({ workers, appliedRevision: revision, holdMs: AGENT_HOLD_MAX_MS, presence });
  await host.untilSyncsWait();
  return { endpoint, agent, waiting };
}

/** Closes a presence; resolves once the edge has dealt with it. */
async function close(presence: WebSocket): Promise<void> {
  const closed = new Promise((resolve) => presence.addEventListener("close", resolve));
  presence.close();
  await closed;
}

/** What the second half of a sync hears, which waits for news. */
async function newsFor({ object }: FleetHarness, query: Readonly<Record<string, string>>): Promise<unknown> {
  const url = `https://object/wake-ups?${new URLSearchParams(query).toString()}`;
  const { webSocket } = await object.fetch(url, { headers: { Upgrade: "websocket" } });
  const heard = new Promise((resolve) =>
    webSocket?.addEventListener("message", ({ data }) => resolve(data), { once: true }),
  );
  webSocket?.accept();
  return heard;
}

/** The worker that another host of the account gets for the endpoint now. */
async function replacementOn(fleet: FleetHarness, other: TestHost, endpoint: TestEndpoint) {
  await other.agent.sync();
  await fleet.fireAlarm();
  const { assignments } = await other.agent.sync();
  return assignments.find(({ endpointId }) => endpointId === endpoint.id);
}

describe("a host's presence", () => {
  test("answers its heartbeats", async ({ expect, fleet }) => {
    const { agent } = await fleet.host();
    const presence = await agent.openPresence("one");
    const answer = new Promise<unknown>((resolve) =>
      presence.addEventListener("message", ({ data }) => resolve(data), { once: true }),
    );
    presence.send(PRESENCE_BEAT);
    expect(await answer).toBe(PRESENCE_BEAT);
    presence.close(1000, PRESENCE_REPLACED);
  });

  test.for(["hibernates before", "hibernates after", "is awake"])(
    "that ends makes the host lost soon, whatever its sync announced, when Fleet %s",
    async (moment, { expect, fleet }) => {
      const { endpoint, agent, waiting } = await busyHost(fleet, "only");
      const presence = await agent.openPresence("only");
      if (moment === "hibernates before") await evictDurableObject(fleet.object);
      await close(presence);
      const endedAt = Date.now();
      const isSetSoon = async () => {
        const at = await alarmOf(fleet);
        return (at !== null && at <= endedAt + HOST_GRACE_MS) || notYet(at);
      };
      await until(isSetSoon, "the alarm of Fleet is set for the end of the grace period");
      if (moment === "hibernates after") await evictDurableObject(fleet.object);
      await alarmOf(fleet); // wakes it: from then on who is silent has the time to come back
      const other = await fleet.host({ name: "other" });

      passTime(HOST_GRACE_MS - 1);
      expect(await replacementOn(fleet, other, endpoint)).toBeUndefined();
      passTime(1);
      expect(await replacementOn(fleet, other, endpoint)).toMatchObject({ endpointId: endpoint.id });
      expect((await waiting).assignments).toMatchObject([{ endpointId: endpoint.id }]); // as it was when the news came
    },
  );

  test("makes the host lost at once when Fleet notices its silence late", async ({ expect, fleet }) => {
    const { endpoint, agent, waiting } = await busyHost(fleet, "late");
    const other = await fleet.host({ name: "other" });
    await other.agent.sync({ holdMs: AGENT_HOLD_MAX_MS, appliedRevision: 0 });
    const silentSince = Date.now();
    passTime(HOST_GRACE_MS + 2_000);
    await fleet.object.hostSilent(agent.hostId, "late", silentSince);
    const { assignments } = await other.agent.sync();
    expect(assignments).toMatchObject([{ endpointId: endpoint.id }]);
    expect((await waiting).assignments).toEqual([]);
  });

  test("that the host has replaced may end", async ({ expect, fleet }) => {
    const { endpoint, agent, waiting } = await busyHost(fleet, "second");
    const first = await agent.openPresence("first");
    await agent.openPresence("second");
    await close(first);
    const other = await fleet.host({ name: "other" });

    passTime(AGENT_HOLD_MAX_MS + HOST_GRACE_MS - 1);
    expect(await replacementOn(fleet, other, endpoint)).toBeUndefined();
    passTime(1); // what its sync promised is over now
    expect(await replacementOn(fleet, other, endpoint)).toMatchObject({ endpointId: endpoint.id });
    expect((await waiting).assignments).toEqual([]);
  });

  test("counts although an older call of the host comes after the one that named it", async ({
    expect,
    fleet,
  }) => {
    const host = await fleet.host();
    const { revision } = await host.agent.sync();
    const late = host.agent.sync({ appliedRevision: revision, holdMs: 4_000 });
    await host.untilSyncsWait();
    const query = { host: host.agent.hostId, revision: `${revision}`, presence: "here" };
    const news = newsFor(fleet, { ...query, holdMs: `${AGENT_HOLD_MAX_MS}` });
    expect(await soon(news, "the newer call is answered")).toBe("look"); // then the host calls again
    await host.untilSyncsWait(1);
    await host.agent.sync();
    expect((await late).revision).toBe(revision);
  });

  test("needs a host's token, a name and an upgrade", async ({ expect, fleet }) => {
    const { agent } = await fleet.host();
    await expect(agent.openPresence("no name!")).rejects.toThrow(
      /"id: .*"invalid_input"|"invalid_input".*"id: /,
    );
    expect(await fleet.api.call("GET", "/agent/v1/presence?id=x")).toMatchObject({ status: 401 });
  });
});
