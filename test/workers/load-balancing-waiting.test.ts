import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { LOAD_BALANCED_WAITING_MAX } from "../../src/endpoint/limits/request-limits.ts";
import type { Affinity } from "../../src/forwarding/messages.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import {
  forward,
  LB,
  linkedEndpoint,
  linkedPair,
  ScriptedLink,
  untilReady,
  vitalsOf,
} from "./link-client.ts";
import { configure, endpointObject, evict, noChannelOf } from "./object.ts";

const api = new EdgeClient();
const { createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] })); // so that no host is lost meanwhile
afterEach(() => void vi.useRealTimers());

/** Waits as the gateway does. */
async function waitOnChannel(endpointId: string, affinity: Affinity | null = null) {
  const query = new URLSearchParams({
    direct: crypto.randomUUID(),
    until: `${Date.now() + 120_000}`,
    ...(affinity && { affinity: `${affinity.mode}:${affinity.workerId}` }),
  });
  const { webSocket } = await endpointObject(endpointId).fetch(`https://object/wake-up?${query.toString()}`, {
    headers: { Upgrade: "websocket" },
  });
  if (!webSocket) throw new Error("no wake-up channel");
  const rung = new Promise((resolve) => {
    webSocket.addEventListener("message", ({ data }) => resolve(data), { once: true });
  });
  webSocket.accept();
  return { rung, disconnect: () => webSocket.close() };
}

const waitingIn = async (endpointId: string) => (await vitalsOf(endpointId)).waitingRequests;

describe("a request that no worker takes", () => {
  test("waits, and gets the reason", async ({ expect }) => {
    const endpointId = await createEndpoint(`${LB}, workersMin: 0`);
    await configureBy(endpointId);
    expect(await forward(endpointId)).toEqual({ kind: "wait", detail: "A worker has been requested." });
    await configure(endpointId, { workersMax: 0, workersMin: 0 });
    expect(await forward(endpointId)).toMatchObject({
      kind: "wait",
      detail: expect.stringContaining("workersMax is 0"),
    });
  });

  test("is notified when a worker takes requests", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    link.ready();
    await link.heard();
    const channel = await waitOnChannel(endpointId);
    expect(await waitingIn(endpointId)).toBe(1);
    link.ready(workerId);
    expect(await channel.rung).toBe("look");
    expect(await waitingIn(endpointId)).toBe(0);
  });

  test("is notified at once when a worker became ready meanwhile", async ({ expect }) => {
    const { endpointId } = await linkedEndpoint(api);
    expect(await (await waitOnChannel(endpointId)).rung).toBe("look");
    expect(await waitingIn(endpointId)).toBe(0);
  });

  test("is counted as long as it waits", async ({ expect }) => {
    const endpointId = await createEndpoint(`${LB}, workersMin: 0`);
    await configureBy(endpointId);
    const channels = [await waitOnChannel(endpointId), await waitOnChannel(endpointId)];
    expect(await waitingIn(endpointId)).toBe(2);
    for (const channel of channels) channel.disconnect();
    await noChannelOf(endpointId, "direct");
    expect(await waitingIn(endpointId)).toBe(0);
  });

  test("continues to wait, and is counted, when the object loses its memory", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    link.ready();
    await link.heard();
    const channel = await waitOnChannel(endpointId);
    await evict(endpointId);
    expect(await waitingIn(endpointId)).toBe(1);
    link.ready(workerId);
    expect(await channel.rung).toBe("look");
  });

  test("is rejected when too many others wait", async ({ expect }) => {
    const endpointId = await createEndpoint(`${LB}, workersMin: 0`);
    await configureBy(endpointId);
    const channels = await runInDurableObject(endpointObject(endpointId), (object) =>
      Promise.all(
        Array.from({ length: LOAD_BALANCED_WAITING_MAX }, (_, index) =>
          object.fetch(new Request(`https://object/wake-up?direct=${index}&until=0`)),
        ),
      ),
    );
    expect(await forward(endpointId)).toEqual({ kind: "overloaded", limit: LOAD_BALANCED_WAITING_MAX });
    expect(await (await waitOnChannel(endpointId)).rung).toBe("look");
    expect(channels).toHaveLength(LOAD_BALANCED_WAITING_MAX);
  });
});

describe("a request for a certain worker", () => {
  test("goes to it although another one is free", async ({ expect }) => {
    const { endpointId, link, workerId, other } = await linkedPair(api);
    for (const mode of ["soft", "strict", "resume"] as const) {
      for (const asked of [workerId, other, workerId, other]) {
        const reply = forward(endpointId, { affinity: { mode, workerId: asked } });
        const open = await link.open();
        expect(open.workerId).toBe(asked);
        link.answer(open.stream, "");
        expect(await reply).toMatchObject({ kind: "answer", workerId: asked });
      }
    }
  });

  test("goes to another one if its worker was only preferred", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const reply = forward(endpointId, { affinity: { mode: "soft", workerId: "gone" } });
    link.answer((await link.open()).stream, "");
    expect(await reply).toMatchObject({ kind: "answer", workerId });
  });

  test("waits while that one takes none, and is notified for that one alone", async ({ expect }) => {
    const { endpointId, link, workerId, other } = await linkedPair(api);
    link.ready(other);
    await link.heard();
    const affinity = { mode: "strict", workerId } as const;
    const detail = `Worker ${workerId} takes no requests yet.`;
    expect(await forward(endpointId, { affinity })).toEqual({ kind: "wait", detail });
    const channel = await waitOnChannel(endpointId, affinity);
    link.ready();
    link.ready(other);
    await link.heard();
    expect(await waitingIn(endpointId)).toBe(1);
    link.ready(other, workerId);
    expect(await channel.rung).toBe("look");
  });

  test("hears that it leaves after the requests that it has", async ({ expect }) => {
    const { endpointId, link, workerId, forward: call } = await linkedEndpoint(api);
    const reply = call();
    const { stream } = await link.open();
    await configure(endpointId, { workersMin: 0, workersMax: 0 });
    const detail = `Worker ${workerId} takes no more requests.`;
    expect(await call({ affinity: { mode: "strict", workerId } })).toEqual({ kind: "wait", detail });
    link.answer(stream, "");
    expect((await reply).kind).toBe("answer");
  });

  test("gets an error when its worker is removed, even while it waits", async ({ expect }) => {
    const { endpointId, agent, link, workerId } = await linkedEndpoint(api);
    link.ready();
    await link.heard();
    const affinity = { mode: "strict", workerId } as const;
    const channel = await waitOnChannel(endpointId, affinity);
    await agent.ask("POST", "/agent/v1/host/leave");
    expect(await channel.rung).toBe("look");
    expect(await forward(endpointId, { affinity })).toEqual({ kind: "worker_gone" });
    expect(await forward(endpointId, { affinity: { mode: "resume", workerId: "never" } })).toEqual({
      kind: "worker_gone",
    });
  });
});

describe("requests of an endpoint", () => {
  test("are shared by the workers of all hosts", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const { workerId: secondWorkerId, link: other } = await secondHost(endpointId);
    other.ready(secondWorkerId);
    await untilReady(endpointId, secondWorkerId);
    const replies = Array.from({ length: 6 }, () => forward(endpointId));
    const opened = { first: [] as number[], second: [] as number[] };
    for (let count = 0; count < 3; count += 1) {
      const [one, two] = [await link.open(), await other.open()];
      expect([one.workerId, two.workerId]).toEqual([workerId, secondWorkerId]);
      opened.first.push(one.stream);
      opened.second.push(two.stream);
    }
    for (const stream of opened.second) other.answer(stream, "");
    await Promise.all(opened.second.map(() => Promise.race(replies)));
    const next = [forward(endpointId), forward(endpointId), forward(endpointId)];
    for (const _ of next) other.answer((await other.open()).stream, ""); // fewest in flight
    await Promise.all(next);
    for (const stream of opened.first) link.answer(stream, "");
    await Promise.all(replies);
  });

  test("never go to an agent that reports a worker of another host, or an unknown worker", async ({
    expect,
  }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const { link: liar } = await secondHost(endpointId);
    liar.ready(workerId, "invented");
    await liar.heard();
    const affinity = { mode: "strict", workerId } as const;
    for (let count = 0; count < 3; count += 1) {
      const reply = forward(endpointId, { affinity });
      link.answer((await link.open()).stream, "");
      expect((await reply).kind).toBe("answer");
    }
    link.ready();
    await link.heard();
    expect((await forward(endpointId)).kind).toBe("wait");
    expect(liar.unread).toEqual([]);
  });

  test("do not go to workers that are leaving", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    await configure(endpointId, { workersMin: 0, workersMax: 0 });
    expect((await forward(endpointId)).kind).toBe("wait");
    expect(link.unread).toEqual([]);
  });

  test("write no row", async ({ expect }) => {
    const { endpointId, link, forward: call } = await linkedEndpoint(api);
    const once = async () => {
      const reply = call();
      link.answer((await link.open()).stream, "x");
      await reply;
    };
    for (let count = 0; count < 5; count += 1) await once();
    const before = await vitalsOf(endpointId);
    for (let count = 0; count < 20; count += 1) await once();
    const after = await vitalsOf(endpointId);
    expect(after.rowsWritten - before.rowsWritten).toBe(0);
    expect(after.requestsInFlight).toBe(0);
  });
});

describe("a link", () => {
  test("is for hosts that have a worker of the endpoint", async ({ expect }) => {
    const { endpointId } = await linkedEndpoint(api);
    const stranger = await ScriptedAgent.join(api, "stranger");
    await stranger.sync();
    await expect(stranger.openLink(endpointId)).rejects.toThrow("worker_not_assigned");
  });

  test("is for hosts of the account, of load-balanced endpoints, and a WebSocket", async ({ expect }) => {
    const endpointId = await createEndpoint(`${LB}, workersMin: 0`);
    const queued = await createEndpoint();
    const agent = await ScriptedAgent.join(api);
    await expect(agent.openLink(queued)).rejects.toThrow("wrong_endpoint_type");
    await expect(agent.openLink("none")).rejects.toThrow("endpoint_not_found");
    await expect(agent.ask("GET", `/agent/v1/endpoints/${endpointId}/link`)).rejects.toThrow(
      "Upgrade: websocket",
    );
    await signInAsNewAccount();
    const stranger = await ScriptedAgent.join(api);
    await expect(stranger.openLink(endpointId)).rejects.toThrow("endpoint_not_found");
  });

  test("survives a loss of the object's memory, with its reported workers", async ({ expect }) => {
    const { endpointId, link, forward: call } = await linkedEndpoint(api);
    await evict(endpointId);
    const reply = call();
    link.answer((await link.open()).stream, "still there");
    expect((await reply).kind).toBe("answer");
  });
});

/** A further host, with a worker of the endpoint that takes no requests yet. */
async function secondHost(endpointId: string) {
  const agent = await ScriptedAgent.join(api, "second");
  await agent.sync();
  await configure(endpointId, { workersMin: 2 });
  const workerId = await agent.bringUpWorker(endpointId);
  return { workerId, link: new ScriptedLink(await agent.openLink(endpointId)) };
}

/** Makes the object know its endpoint, as any call of the gateway does. */
async function configureBy(endpointId: string): Promise<void> {
  const agent = await ScriptedAgent.join(api, "idle");
  await agent.exchange(endpointId);
}
