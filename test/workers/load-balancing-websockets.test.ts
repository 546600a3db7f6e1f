import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { FLAG_FIN, FRAME, LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";
import { WEBSOCKET_BACKLOG_MAX_BYTES } from "../../src/forwarding/socket-buffers.ts";
import { UPGRADE_HEAD, UPGRADE_WORKER } from "../../src/durable/ports.ts";
import { EdgeClient } from "./edge-client.ts";
import { bytesOf, forward, headOf, json, linkedEndpoint, text, type ScriptedLink } from "./link-client.ts";
import { endpointObject, evict } from "./object.ts";
import { LINK_WINDOW_BYTES } from "../../src/link/link-window.ts";
import { WEBSOCKET_MESSAGE_MAX_BYTES } from "../../src/link/link-messages.ts";

const api = new EdgeClient();
const { signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] })); // so that no host is lost meanwhile
afterEach(() => void vi.useRealTimers());

const SWITCHING = {
  status: 101,
  statusText: "Switching Protocols",
  headers: [["sec-websocket-protocol", "x"]],
};

/** Asks for a WebSocket, as the gateway does. */
function upgrade(endpointId: string, requestId: string = crypto.randomUUID()): Promise<Response> {
  const query = new URLSearchParams({ request: requestId, received: `${Date.now()}` });
  const head = btoa(text(headOf({ kind: "websocket", target: "/chat" })));
  const headers = { Upgrade: "websocket", [UPGRADE_HEAD]: head };
  return endpointObject(endpointId).fetch(`https://object/direct?${query.toString()}`, { headers });
}

class Client {
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #messages: unknown[] = [];
  #waiting: (() => void) | undefined;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.accept();
    socket.addEventListener("message", ({ data }) => {
      this.#messages.push(data);
      this.#waiting?.();
    });
    const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
    this.closed = promise;
    socket.addEventListener("close", ({ code, reason }) => {
      resolve({ code, reason });
      socket.close();
    });
  }

  async next(): Promise<unknown> {
    while (this.#messages.length === 0) await new Promise<void>((resolve) => (this.#waiting = resolve));
    return this.#messages.shift();
  }
}

/** An open WebSocket between a client and the agent's end of it. */
async function opened() {
  const scene = await linkedEndpoint(api);
  const requestId = crypto.randomUUID();
  const response = upgrade(scene.endpointId, requestId);
  const { stream } = await scene.link.open();
  scene.link.send({ type: FRAME.HEAD, stream, payload: json(SWITCHING) });
  const { webSocket } = await response;
  if (!webSocket) throw new Error("no WebSocket");
  return { ...scene, requestId, stream, client: new Client(webSocket) };
}

/** Takes a message of the client at the agent's end, giving credit for each piece. */
async function gather(link: ScriptedLink, stream: number, type: typeof FRAME.TEXT | typeof FRAME.BINARY) {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const { payload, flags } = await link.next(type);
    pieces.push(payload);
    link.credit(stream, payload.byteLength);
    if (flags & FLAG_FIN) return new Uint8Array(await new Blob(pieces).arrayBuffer());
  }
}

const closeOf = async (link: ScriptedLink) =>
  JSON.parse(text((await link.next(FRAME.CLOSE)).payload)) as unknown;
const inFlight = async (endpointId: string) => (await endpointObject(endpointId).vitals()).requestsInFlight;

describe("a WebSocket", () => {
  test("is open when its worker has accepted it, with the worker's head", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const response = upgrade(endpointId);
    const { stream, head, workerId: asked } = await link.open();
    expect(asked).toBe(workerId);
    expect(head).toMatchObject({ kind: "websocket", target: "/chat" });
    link.send({ type: FRAME.HEAD, stream, payload: json(SWITCHING) });
    const { status, headers, webSocket } = await response;
    expect(status).toBe(101);
    expect(JSON.parse(atob(headers.get(UPGRADE_HEAD) ?? ""))).toEqual(SWITCHING);
    expect(headers.get(UPGRADE_WORKER)).toBe(workerId);
    expect(webSocket).toBeTruthy();
    expect(await inFlight(endpointId)).toBe(1);
    webSocket?.accept();
    webSocket?.close();
  });

  test("that its worker declines is answered like a request", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    const response = upgrade(endpointId);
    const { stream } = await link.open();
    link.send({ type: FRAME.HEAD, stream, payload: json({ status: 403, statusText: "No", headers: [] }) });
    link.data(stream, "go ");
    link.data(stream, "away");
    link.end(stream);
    const { status, headers, body } = await response;
    expect(status).toBe(200);
    expect(JSON.parse(atob(headers.get(UPGRADE_HEAD) ?? ""))).toMatchObject({ status: 403 });
    expect(await new Response(body).text()).toBe("go away");
    expect(await inFlight(endpointId)).toBe(0);
  });

  test("that no worker takes has to wait, and one that is broken fails", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const broken = upgrade(endpointId);
    link.reset((await link.open()).stream, "worker_failed", "refused");
    const failed = { kind: "failed", reason: "worker_failed", detail: "refused", workerId };
    expect(await (await broken).json()).toEqual(failed);
    link.ready();
    await link.heard();
    const response = await upgrade(endpointId);
    expect(response.headers.get(UPGRADE_HEAD)).toBeNull();
    expect(await response.json()).toMatchObject({ kind: "wait" });
  });

  test("carries text and bytes both ways, of any size, in their order", async ({ expect }) => {
    const { link, stream, client } = await opened();
    const long = "ä€😀".repeat(40_000);
    client.socket.send("hello");
    client.socket.send(long);
    client.socket.send(new Uint8Array([0, 255]));
    client.socket.send("");
    client.socket.send(bytesOf(3_000_000));
    expect(text(await gather(link, stream, FRAME.TEXT))).toBe("hello");
    expect(text(await gather(link, stream, FRAME.TEXT))).toBe(long);
    expect(await gather(link, stream, FRAME.BINARY)).toEqual(new Uint8Array([0, 255]));
    expect(text(await gather(link, stream, FRAME.TEXT))).toBe("");
    expect((await gather(link, stream, FRAME.BINARY)).byteLength).toBe(3_000_000);

    link.send({ type: FRAME.TEXT, stream, flags: FLAG_FIN, payload: "hi" });
    const bytes = new TextEncoder().encode(long);
    for (let at = 0; at < bytes.byteLength; at += LINK_FRAME_MAX_BYTES) {
      const payload = bytes.slice(at, at + LINK_FRAME_MAX_BYTES);
      const isLast = at + LINK_FRAME_MAX_BYTES >= bytes.byteLength;
      link.send({ type: FRAME.TEXT, stream, payload, flags: isLast ? FLAG_FIN : 0 });
    }
    link.send({ type: FRAME.BINARY, stream, flags: FLAG_FIN, payload: new Uint8Array([1, 0]) });
    link.send({ type: FRAME.TEXT, stream, flags: FLAG_FIN });
    expect(await client.next()).toBe("hi");
    expect(await client.next()).toBe(long);
    expect(new Uint8Array((await client.next()) as ArrayBuffer)).toEqual(new Uint8Array([1, 0]));
    expect(await client.next()).toBe("");
    let credit = 0;
    while (credit < bytes.byteLength + 4) {
      const { payload } = await link.next(FRAME.CREDIT);
      credit += new DataView(payload.buffer, payload.byteOffset).getUint32(0);
    }
    expect(credit).toBe(bytes.byteLength + 4);
  });

  test("is closed by its client, whose code its worker gets", async ({ expect }) => {
    const { endpointId, link, client } = await opened();
    client.socket.send("last words");
    client.socket.close(4001, "enough");
    expect(text((await link.next(FRAME.TEXT)).payload)).toBe("last words");
    expect(await closeOf(link)).toEqual({ code: 4001, reason: "enough" });
    expect(await inFlight(endpointId)).toBe(0);
  });

  test("is closed without a code as one that went well", async ({ expect }) => {
    const { link, client } = await opened();
    client.socket.close();
    expect(await closeOf(link)).toEqual({ code: 1000, reason: "" });
  });

  test("is closed by its worker, whose code its client gets", async ({ expect }) => {
    const { endpointId, link, stream, client } = await opened();
    link.send({ type: FRAME.CLOSE, stream, payload: json({ code: 4002, reason: "busy" }) });
    expect(await client.closed).toEqual({ code: 4002, reason: "busy" });
    expect(await closeOf(link)).toEqual({ code: 4002, reason: "busy" });
    expect(await inFlight(endpointId)).toBe(0);
  });

  test.for([1005, 1006, 1015])("never sends the code %i on", async (code, { expect }) => {
    const { link, stream, client } = await opened();
    link.send({ type: FRAME.CLOSE, stream, payload: json({ code, reason: "" }) });
    expect([1000, 1001]).toContain((await client.closed).code);
  });

  test("waits for credit with data of its client, and forwards the close after it", async ({ expect }) => {
    const { link, stream, client } = await opened();
    client.socket.send(bytesOf(2 * LINK_WINDOW_BYTES));
    client.socket.send("last words");
    client.socket.close(1000, "done");
    expect((await link.next(FRAME.BINARY)).payload.byteLength).toBe(LINK_WINDOW_BYTES);
    await link.heard();
    expect(link.unread).toEqual([]);
    link.credit(stream, 2 * LINK_WINDOW_BYTES);
    expect((await link.next(FRAME.BINARY)).flags).toBe(FLAG_FIN);
    expect(text((await link.next(FRAME.TEXT)).payload)).toBe("last words");
    expect(await closeOf(link)).toEqual({ code: 1000, reason: "done" });
  });

  test("is closed when its worker does not read", async ({ expect }) => {
    const { endpointId, link, client } = await opened();
    for (let sent = 0; sent <= WEBSOCKET_BACKLOG_MAX_BYTES; sent += 1_000_000)
      client.socket.send(bytesOf(1_000_000));
    expect((await client.closed).code).toBe(1013);
    await link.next(FRAME.BINARY);
    expect(await link.resetReason()).toBe("worker_failed");
    expect(await inFlight(endpointId)).toBe(0);
  });

  test("is closed when its client sends too large a message", async ({ expect }) => {
    const { link, client } = await opened();
    client.socket.send(bytesOf(WEBSOCKET_MESSAGE_MAX_BYTES + 1));
    expect((await client.closed).code).toBe(1009);
    expect(await link.resetReason()).toBe("too_large");
  });

  test("is closed when its worker sends too large a message", async ({ expect }) => {
    const { link, stream, client } = await opened();
    const payload = bytesOf(LINK_FRAME_MAX_BYTES);
    for (let sent = 0; sent <= WEBSOCKET_MESSAGE_MAX_BYTES; sent += payload.byteLength) {
      link.send({ type: FRAME.BINARY, stream, payload });
    }
    expect((await client.closed).code).toBe(1009);
    expect(await link.resetReason()).toBe("too_large");
  });

  test("is closed when its link is", async ({ expect }) => {
    const { endpointId, agent, workerId, link, client } = await opened();
    link.socket.close(1000);
    const { code, reason } = await client.closed;
    expect(code).toBe(1011);
    expect(reason).toContain(workerId);
    expect(reason).toContain(agent.hostId);
    expect(await inFlight(endpointId)).toBe(0);
  });

  test("is closed when Fleet has removed its worker", async ({ expect }) => {
    const { agent, link, client } = await opened();
    await agent.ask("POST", "/agent/v1/host/leave");
    expect((await client.closed).code).toBe(1011);
    expect(await link.resetReason()).toBe("worker_failed");
  });

  test("is closed when its request is aborted", async ({ expect }) => {
    const { endpointId, requestId, link, client } = await opened();
    await endpointObject(endpointId).abortForwarded(requestId, "aborted");
    expect((await client.closed).code).toBe(1011);
    expect(await link.resetReason()).toBe("aborted");
  });

  test.for([
    ["a frame of a request", (link: ScriptedLink, stream: number) => link.data(stream, "x")],
    [
      "invalid text",
      (link: ScriptedLink, stream: number) =>
        link.send({ type: FRAME.TEXT, stream, flags: FLAG_FIN, payload: new Uint8Array([255]) }),
    ],
    [
      "a message of two kinds",
      (link: ScriptedLink, stream: number) =>
        link.send({ type: FRAME.TEXT, stream, payload: "x" }, { type: FRAME.BINARY, stream, payload: "x" }),
    ],
    [
      "a close without a code",
      (link: ScriptedLink, stream: number) => link.send({ type: FRAME.CLOSE, stream, payload: "{}" }),
    ],
  ] as const)("is closed when the agent sends %s", async ([, violate], { expect }) => {
    const { link, stream, client } = await opened();
    violate(link, stream);
    expect((await link.closed).code).toBe(1002);
    expect((await client.closed).code).toBe(1011);
  });
});

describe("a WebSocket whose object loses its memory", () => {
  test("continues in both directions, and counts", async ({ expect }) => {
    const { endpointId, link, stream, client } = await opened();
    client.socket.send("before");
    expect(text((await link.next(FRAME.TEXT)).payload)).toBe("before");
    await evict(endpointId);
    expect(await inFlight(endpointId)).toBe(1);
    client.socket.send("after");
    expect(text((await link.next(FRAME.TEXT)).payload)).toBe("after");
    link.send({ type: FRAME.TEXT, stream, flags: FLAG_FIN, payload: "answer" });
    expect(await client.next()).toBe("answer");
    await link.next(FRAME.CREDIT);

    const reply = forward(endpointId);
    const other = await link.open();
    expect(other.stream).not.toBe(stream);
    link.answer(other.stream, "");
    expect((await reply).kind).toBe("answer");
    client.socket.close(1000, "bye");
    expect(await closeOf(link)).toEqual({ code: 1000, reason: "bye" });
    expect(await inFlight(endpointId)).toBe(0);
  });

  test("remembers the credit that its agent has left", async ({ expect }) => {
    const { endpointId, link, stream, client } = await opened();
    client.socket.send(bytesOf(LINK_WINDOW_BYTES - 10));
    await link.next(FRAME.BINARY);
    await evict(endpointId);
    client.socket.send(bytesOf(20));
    expect((await link.next(FRAME.BINARY)).payload.byteLength).toBe(10);
    link.credit(stream, 100);
    expect((await link.next(FRAME.BINARY)).payload.byteLength).toBe(10);
  });

  test("is closed when its link was closed afterwards", async ({ expect }) => {
    const { endpointId, link, client } = await opened();
    await evict(endpointId);
    link.socket.close(1000);
    expect((await client.closed).code).toBe(1011);
  });

  test("does not continue over a newer link of its host", async ({ expect }) => {
    const { endpointId, agent, client } = await opened();
    await evict(endpointId);
    await agent.openLink(endpointId);
    expect((await client.closed).code).toBe(1011);
  });
});
