import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { FLAG_END, FRAME, LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";
import { LINK_SILENCE_MS } from "../../src/link/link-messages.ts";
import { AGENT_HOLD_MAX_MS, LOAD_BALANCED_BODY_MAX_BYTES } from "../../src/contract/limits.ts";
import { EdgeClient } from "./edge-client.ts";
import {
  answered,
  bytesOf,
  forward,
  json,
  linkedEndpoint,
  linkedPair,
  readAll,
  ScriptedLink,
  text,
  WrittenBody,
} from "./link-client.ts";
import { endpointObject, fleetObject, passTime } from "./object.ts";
import { LINK_WINDOW_BYTES } from "../../src/link/link-window.ts";
import { until } from "./support/until.ts";

const api = new EdgeClient();
const { signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] })); // so that no host is lost meanwhile
afterEach(() => void vi.useRealTimers());

const channelsOfHost = (hostId: string) =>
  runInDurableObject(fleetObject(api.accountId), (_, state) => state.getWebSockets(`host:${hostId}`).length);

const frame = bytesOf(LINK_FRAME_MAX_BYTES);

/** A request whose answer has begun. */
async function begun() {
  const scene = await linkedEndpoint(api);
  const requestId = crypto.randomUUID();
  const reply = scene.forward({ requestId });
  const { stream } = await scene.link.open();
  scene.link.head(stream);
  const { body } = await answered(reply);
  return { ...scene, requestId, stream, body: body as ReadableStream<Uint8Array> };
}

describe("an abort", () => {
  test("ends a request that has no answer yet", async ({ expect }) => {
    const { endpointId, link, forward: call } = await linkedEndpoint(api);
    const reply = call({ requestId: "one" });
    await link.open();
    await endpointObject(endpointId).abortForwarded("one", "timeout");
    expect(await link.resetReason()).toBe("timeout");
    expect(await reply).toMatchObject({ kind: "failed", reason: "timeout" });
  });

  test("ends a request whose body is on its way, and the body", async ({ expect }) => {
    const { endpointId, link, forward: call } = await linkedEndpoint(api);
    const body = new WrittenBody();
    const reply = call({ requestId: "one", body });
    await link.open();
    const written = body.writeForever(frame);
    await link.next(FRAME.DATA);
    await endpointObject(endpointId).abortForwarded("one", "aborted");
    expect(await link.resetReason()).toBe("aborted");
    expect(await reply).toMatchObject({ kind: "failed", reason: "aborted" });
    await written;
  });

  test("ends an answer that is on its way", async ({ expect }) => {
    const { endpointId, link, requestId, stream, body } = await begun();
    link.data(stream, "some");
    const reader = body.getReader();
    await reader.read();
    await endpointObject(endpointId).abortForwarded(requestId, "aborted");
    expect(await link.resetReason()).toBe("aborted");
    await expect(reader.read()).rejects.toThrow();
    link.data(stream, "late"); // a stream that is over is no violation
    const next = forward(endpointId);
    link.answer((await link.open()).stream, "");
    expect((await next).kind).toBe("answer");
  });

  test("is sent to the agent when a reader leaves", async ({ expect }) => {
    const { link, stream, body } = await begun();
    link.data(stream, "some");
    const reader = body.getReader();
    await reader.read();
    await reader.cancel();
    const reason = link.resetReason();
    let found: string | undefined;
    void reason.then((text) => (found = text));
    await until(() => {
      link.data(stream, "more"); // only data that is sent shows that the reader has left
      return found;
    }, "the agent hears that the reader has left");
    expect(found).toBe("aborted");
  });

  test("is sent to the agent when the body of a client breaks off", async ({ expect }) => {
    const { link, forward: call } = await linkedEndpoint(api);
    const body = new WrittenBody();
    const reply = call({ body });
    await link.open();
    void body.writer.write(frame).catch(() => {});
    await link.next(FRAME.DATA);
    await body.writer.abort(new Error("gone"));
    expect(await link.resetReason()).toBe("aborted");
    expect(await reply).toMatchObject({ kind: "failed", reason: "aborted" });
  });

  test("that overtakes its request keeps it from any worker", async ({ expect }) => {
    const { endpointId, link, forward: call } = await linkedEndpoint(api);
    await endpointObject(endpointId).abortForwarded("one", "aborted");
    expect(await call({ requestId: "one" })).toMatchObject({ kind: "failed", reason: "aborted" });
    const other = call({ requestId: "two" });
    link.answer((await link.open()).stream, "");
    expect((await other).kind).toBe("answer");
    expect(link.unread).toEqual([]);
  });

  test("of a request that is over, or never was, changes nothing", async ({ expect }) => {
    const { endpointId, link, forward: call } = await linkedEndpoint(api);
    const reply = call({ requestId: "one" });
    link.answer((await link.open()).stream, "");
    await reply;
    await endpointObject(endpointId).abortForwarded("one", "aborted");
    await endpointObject(endpointId).abortForwarded("two", "aborted");
    expect(link.unread).toEqual([]);
  });
});

describe("back-pressure", () => {
  test("a client that does not read bounds what the agent may send", async ({ expect }) => {
    const { link, stream, body } = await begun();
    const sent = await link.flood(stream, LOAD_BALANCED_BODY_MAX_BYTES, 300);
    expect(sent).toBeLessThanOrEqual(4_000_000);
    void body.cancel();
  });

  test("gives the agent credit as the client reads", async ({ expect }) => {
    const { link, stream, body } = await begun();
    const read = readAll(body);
    expect(await link.flood(stream, 5_000_000)).toBe(5_000_000);
    link.end(stream);
    expect((await read).byteLength).toBe(5_000_000);
  });

  test("an agent that gives no credit bounds what the client may send", async ({ expect }) => {
    const { endpointId, link, forward: call } = await linkedEndpoint(api);
    const body = new WrittenBody();
    void call({ requestId: "one", body });
    await link.open();
    const written = body.writeForever(frame);
    let received = 0;
    while (received < LINK_WINDOW_BYTES) {
      const { payload } = await link.next(FRAME.DATA);
      expect(payload.byteLength).toBeLessThanOrEqual(LINK_FRAME_MAX_BYTES);
      received += payload.byteLength;
    }
    expect(received).toBe(LINK_WINDOW_BYTES);
    for (let times = 0; times < 3; times += 1) await link.heard();
    expect(link.unread).toEqual([]);
    await endpointObject(endpointId).abortForwarded("one", "aborted");
    expect(await link.resetReason()).toBe("aborted");
    expect(await written).toBeLessThanOrEqual(4_000_000); // what pipes on the way hold
  });

  test("of one request delays no other", async ({ expect }) => {
    const { endpointId, link, stream } = await begun();
    await link.flood(stream, LOAD_BALANCED_BODY_MAX_BYTES, 300);
    const other = forward(endpointId);
    link.answer((await link.open()).stream, "quick");
    expect((await other).kind).toBe("answer");
  });
});

describe("a body above the limit", () => {
  test("of a request is cut off, and the reply reports that", async ({ expect }) => {
    const { link, forward: call } = await linkedEndpoint(api);
    const body = new WrittenBody();
    const reply = call({ body });
    const { stream } = await link.open();
    const written = body.writeForever(bytesOf(1_000_000));
    const { pieces, last } = await link.pieces(stream);
    expect(last.type).toBe(FRAME.RESET);
    const received = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(received).toBeLessThanOrEqual(LOAD_BALANCED_BODY_MAX_BYTES);
    expect(received).toBeGreaterThan(LOAD_BALANCED_BODY_MAX_BYTES - 2_000_000);
    expect(await reply).toMatchObject({ kind: "failed", reason: "too_large" });
    await written;
  });

  test("of an answer is broken off", async ({ expect }) => {
    const { link, stream, body } = await begun();
    const read = readAll(body).catch((error: unknown) => error);
    expect(await link.flood(stream, LOAD_BALANCED_BODY_MAX_BYTES + 1)).toBe(LOAD_BALANCED_BODY_MAX_BYTES + 1);
    expect(await link.resetReason()).toBe("too_large");
    expect(await read).toBeInstanceOf(Error);
  });

  test("is not one with exactly so many bytes", async ({ expect }) => {
    const { link, forward: call } = await linkedEndpoint(api);
    const body = new WrittenBody();
    const reply = call({ body });
    const { stream } = await link.open();
    void (async () => {
      for (let left = LOAD_BALANCED_BODY_MAX_BYTES; left > 0; left -= 1_000_000) {
        await body.writer.write(bytesOf(Math.min(left, 1_000_000)));
      }
      await body.writer.close();
    })();
    expect((await link.body(stream)).byteLength).toBe(LOAD_BALANCED_BODY_MAX_BYTES);
    link.answer(stream, "");
    expect((await reply).kind).toBe("answer");
  });
});

describe("a link that closes", () => {
  test("ends requests that have no answer yet, and names their worker and host", async ({ expect }) => {
    const { agent, workerId, link, forward: call } = await linkedEndpoint(api);
    const reply = call();
    await link.open();
    link.socket.close(1000);
    const failed = await reply;
    expect(failed).toMatchObject({ kind: "failed", reason: "worker_failed", workerId });
    const { detail } = failed as { detail: string };
    expect(detail).toContain(workerId);
    expect(detail).toContain(agent.hostId);
  });

  test("ends requests whose body is on its way", async ({ expect }) => {
    const { link, forward: call } = await linkedEndpoint(api);
    const body = new WrittenBody();
    const reply = call({ body });
    await link.open();
    const written = body.writeForever(frame);
    link.socket.close(1000);
    expect(await reply).toMatchObject({ kind: "failed", reason: "worker_failed" });
    await written;
  });

  test("breaks off answers that are on their way", async ({ expect }) => {
    const { link, stream, body } = await begun();
    link.data(stream, "some");
    const reader = body.getReader();
    await reader.read();
    link.socket.close(1000);
    await expect(reader.read()).rejects.toThrow();
  });

  test("leaves no worker behind", async ({ expect }) => {
    const { link, forward: call } = await linkedEndpoint(api);
    const reply = call();
    await link.open();
    link.socket.close(1000);
    await reply;
    expect(await call()).toMatchObject({ kind: "wait" });
  });

  test("because its agent has opened another one has lost its requests", async ({ expect }) => {
    const { endpointId, agent, workerId, link, forward: call } = await linkedEndpoint(api);
    const reply = call();
    await link.open();
    const second = new ScriptedLink(await agent.openLink(endpointId));
    expect(await reply).toMatchObject({ kind: "failed", reason: "worker_failed" });
    expect(await link.closed).toMatchObject({ code: 1000 });
    second.ready(workerId);
    await second.heard();
    const next = call();
    second.answer((await second.open()).stream, "");
    expect((await next).kind).toBe("answer");
  });
});

describe("a link that is silent", () => {
  test("is closed after a while, and its requests fail", async ({ expect }) => {
    const { endpointId, agent, workerId, link, forward: call } = await linkedEndpoint(api);
    const workers = [{ workerId, endpointId, revision: 1, state: "ready" as const }];
    const { revision } = await agent.sync({ workers });
    const parked = agent.sync({ workers, appliedRevision: revision, holdMs: AGENT_HOLD_MAX_MS }); // so the host is there
    await until(async () => (await channelsOfHost(agent.hostId)) > 0, "the agent waits on a channel");
    const reply = call();
    await link.open();
    passTime(LINK_SILENCE_MS);
    const { detail } = (await reply) as { detail: string };
    expect(detail).toContain("silent");
    expect(await link.closed).toMatchObject({ code: 1000 });
    await agent.sync({ workers });
    await parked;
  });

  test("stays open while it sends heartbeats, and if it was silent only before the request", async ({
    expect,
  }) => {
    const { endpointId, link, forward: call } = await linkedEndpoint(api);
    passTime(LINK_SILENCE_MS);
    const reply = call();
    const { stream } = await link.open();
    passTime(LINK_SILENCE_MS - 1);
    link.send({ type: FRAME.BEAT, stream: 0 });
    const other = forward(endpointId);
    link.answer((await link.open()).stream, "", undefined); // so the beat has arrived
    await other;
    passTime(LINK_SILENCE_MS - 1);
    await endpointObject(endpointId).vitals();
    link.answer(stream, "");
    expect((await reply).kind).toBe("answer");
  });
});

describe("a worker", () => {
  test("that breaks its request is named in the reply", async ({ expect }) => {
    const { link, workerId, forward: call } = await linkedEndpoint(api);
    const reply = call();
    link.reset((await link.open()).stream, "worker_failed", "ECONNREFUSED");
    const failed = { kind: "failed", reason: "worker_failed", detail: "ECONNREFUSED", workerId };
    expect(await reply).toEqual(failed);
  });

  test("that breaks off its answer breaks the stream", async ({ expect }) => {
    const { link, stream, body } = await begun();
    link.data(stream, "some");
    const reader = body.getReader();
    await reader.read();
    link.reset(stream, "worker_failed");
    await expect(reader.read()).rejects.toThrow();
  });

  test("that stops taking requests returns its request, which waits for another worker", async ({
    expect,
  }) => {
    const { link, forward: call } = await linkedEndpoint(api);
    const reply = call();
    link.reset((await link.open()).stream, "worker_gone");
    expect(await reply).toMatchObject({ kind: "wait" });
  });

  test("that returns its request does not get it again, though its agent reports it as ready", async ({
    expect,
  }) => {
    const { link, workerId, other, forward: call } = await linkedPair(api);
    link.ready(workerId);
    await link.heard();
    const reply = call();
    const { stream } = await link.open();
    const workers = json({ workers: [workerId] });
    link.send(
      { type: FRAME.RESET, stream, payload: json({ reason: "worker_gone", detail: "refused" }) },
      { type: FRAME.WORKERS, stream: 0, payload: workers },
    );
    expect(await reply).toMatchObject({ kind: "wait" });
    expect(link.unread).toEqual([]);

    link.ready(workerId, other);
    await link.heard();
    const next = call();
    const first = await link.open();
    link.reset(first.stream, "worker_gone");
    const second = await link.open();
    expect([first.workerId, second.workerId].toSorted()).toEqual([workerId, other].toSorted());
    link.answer(second.stream, "");
    expect(await next).toMatchObject({ kind: "answer", workerId: second.workerId });
  });

  test("that returns a request without having read its body leaves all of it to another one", async ({
    expect,
  }) => {
    const { link, forward: call } = await linkedPair(api);
    const body = new WrittenBody();
    const reply = call({ body });
    const first = await link.open();
    void body.writer.write(json("one"));
    expect(text((await link.next(FRAME.DATA)).payload)).toBe('"one"');
    link.reset(first.stream, "worker_gone");
    const second = await link.open();
    expect(second.workerId).not.toBe(first.workerId);
    void body.writer.write(json("two"));
    void body.writer.close();
    expect(text(await link.body(second.stream))).toBe('"one""two"');
    link.answer(second.stream, "");
    expect(await reply).toMatchObject({ kind: "answer", workerId: second.workerId });
    expect(body.opened).toBe(1);
  });

  test.for([
    ["of which it has read", true],
    ["that nobody else takes", false],
  ] as const)("that gives back a body %s has lost it", async ([, hasRead], { expect }) => {
    const { link, workerId, other, forward: call } = await linkedPair(api);
    link.ready(workerId, ...(hasRead ? [other] : []));
    await link.heard();
    const body = new WrittenBody();
    const reply = call({ body });
    const { stream } = await link.open();
    void body.writer.write(json("one")).catch(() => {});
    await link.next(FRAME.DATA);
    if (hasRead) link.credit(stream, 5);
    link.reset(stream, "worker_gone");
    expect(await reply).toMatchObject({ kind: "failed", reason: "worker_gone" });
    expect(link.unread).toEqual([]);
  });

  test("that Fleet removed has lost its requests", async ({ expect }) => {
    const { agent, workerId, link, forward: call } = await linkedEndpoint(api);
    const reply = call();
    await link.open();
    await agent.ask("POST", "/agent/v1/host/leave");
    expect(await reply).toMatchObject({ kind: "failed", reason: "worker_failed", workerId });
    expect(await link.resetReason()).toBe("worker_failed");
    expect((await call()).kind).toBe("wait");
  });
});

describe("an agent that breaks the protocol loses its link, and its requests end", () => {
  const head = { type: FRAME.HEAD, payload: "{}" } as const;
  const violations: Record<string, (link: ScriptedLink, stream: number) => void> = {
    "text instead of frames": (link) => link.socket.send("hello"),
    "bytes that are no frames": (link) => link.socket.send(new Uint8Array([1, 2, 3])),
    "a type that is none": (link) => link.socket.send(new Uint8Array([99, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
    "a length beyond the message": (link) =>
      link.socket.send(new Uint8Array([10, 0, 0, 0, 0, 0, 0, 0, 0, 9])),
    "a stream opened by the agent": (link, stream) => link.send({ type: FRAME.OPEN, stream }),
    "data before the head": (link, stream) => link.data(stream, "x"),
    "a second head": (link, stream) => link.send({ ...head, stream }, { ...head, stream }),
    "data after the end": (link, stream) =>
      link.send(
        { ...head, stream },
        { type: FRAME.DATA, stream, flags: FLAG_END },
        { type: FRAME.DATA, stream },
      ),
    "bytes beyond its credit": (link, stream) =>
      link.send(
        { ...head, stream },
        ...Array.from({ length: 9 }, () => ({ type: FRAME.DATA, stream, payload: frame })),
      ),
    "a frame that is too large": (link, stream) =>
      link.send(
        { ...head, stream },
        { type: FRAME.DATA, stream, payload: bytesOf(LINK_FRAME_MAX_BYTES + 1) },
      ),
    "a head that is too large": (link, stream) =>
      link.send({ ...head, stream, payload: bytesOf(LINK_FRAME_MAX_BYTES + 1) }),
    "credit of two bytes": (link, stream) => link.send({ type: FRAME.CREDIT, stream, payload: "ab" }),
    "endless credit": (link, stream) => link.credit(stream, 2 ** 32 - 1),
    "a message of a WebSocket": (link, stream) => link.send({ type: FRAME.TEXT, stream, payload: "x" }),
    "a reset without a reason": (link, stream) => link.send({ type: FRAME.RESET, stream, payload: "{}" }),
    "a head of the link": (link) => link.send({ ...head, stream: 0 }),
    "workers that are none": (link) =>
      link.send({ type: FRAME.WORKERS, stream: 0, payload: '{"workers":[1]}' }),
    "workers that are no JSON": (link) => link.send({ type: FRAME.WORKERS, stream: 0, payload: "{" }),
  };

  test.for(Object.keys(violations))("by %s", async (name, { expect }) => {
    const { endpointId, agent, workerId, link, forward: call } = await linkedEndpoint(api);
    const body = new WrittenBody(); // so the request goes on after its answer
    const reply = call({ body });
    const { stream } = await link.open();
    violations[name]?.(link, stream);
    expect(await link.closed).toMatchObject({ code: 1002 });
    const { kind } = await reply;
    expect(["failed", "answer"]).toContain(kind);

    const again = new ScriptedLink(await agent.openLink(endpointId));
    again.ready(workerId);
    await again.heard();
    const next = call();
    again.answer((await again.open()).stream, "");
    expect((await next).kind).toBe("answer");
  });

  test("a stream that only the agent knows is reset", async ({ expect }) => {
    const { link, forward: call } = await linkedEndpoint(api);
    const reply = call();
    const { stream } = await link.open();
    link.data((stream + 1_000) % 2 ** 32, "x");
    expect(await link.resetReason()).toBe("protocol");
    link.answer(stream, "");
    expect((await reply).kind).toBe("answer");
  });
});
