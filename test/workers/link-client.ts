/** The agent's end of a link, by hand, and the calls that bring requests to it. */
import type { z } from "zod";
import { RpcTarget } from "cloudflare:workers";
import {
  decodeCredit,
  decodeFrames,
  decodeOpen,
  encodeCredit,
  encodeFrames,
  FLAG_END,
  FRAME,
  type Frame,
  type FrameType,
  LINK_FRAME_MAX_BYTES,
} from "../../src/link/link-frame.ts";
import type { linkWorkersSchema, RequestHead, ResponseHead } from "../../src/link/link-messages.ts";
import {
  ReceiveWindow,
  WindowBudget,
  LINK_WINDOW_BYTES,
  LINK_WINDOW_MAX_BYTES,
} from "../../src/link/link-window.ts";
import type { ForwardCall, ForwardReply } from "../../src/forwarding/messages.ts";
import { ScriptedAgent } from "./agent-client.ts";
import type { EdgeClient } from "./edge-client.ts";
import { endpointObject } from "./object.ts";
import { soon } from "./support/until.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const NAMES = new Map<number, string>(Object.entries(FRAME).map(([name, type]) => [type, name]));

export const json = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));
export const text = (bytes: Uint8Array): string => decoder.decode(bytes);
export const bytesOf = (count: number): Uint8Array => new Uint8Array(count).fill(7);

const OK: ResponseHead = { status: 200, statusText: "OK", headers: [["x-test", "1"]] };

/** What a test writes of a frame. */
type Sent = { type: FrameType; stream: number; payload?: Uint8Array | string; flags?: number };

export class ScriptedLink {
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  readonly #frames: Frame[] = [];
  #waiting: (() => void) | undefined;
  /** Messages that came. */
  messages = 0;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => {
      this.messages += 1;
      this.#frames.push(...(decodeFrames(new Uint8Array(data as ArrayBuffer)) ?? []));
      this.#waiting?.();
    });
    const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
    this.closed = promise;
    socket.addEventListener("close", ({ code, reason }) => resolve({ code, reason }));
  }

  send(...frames: Sent[]): void {
    const whole = frames.map(({ type, stream, flags = 0, payload = "" }) => ({
      type,
      stream,
      flags,
      payload: typeof payload === "string" ? encoder.encode(payload) : payload,
    }));
    this.socket.send(encodeFrames(whole));
  }

  ready(...workers: string[]): void {
    this.send({
      type: FRAME.WORKERS,
      stream: 0,
      payload: json({ workers } satisfies z.infer<typeof linkWorkersSchema>),
    });
  }

  /** Resolves once the object has heard all that was sent: it answers to a stream that it does not know. */
  async heard(): Promise<void> {
    const stream = 1 + Math.floor(Math.random() * (2 ** 32 - 2));
    this.data(stream, "?");
    const others: Frame[] = [];
    for (let frame = await this.any(); frame.stream !== stream; frame = await this.any()) others.push(frame);
    this.#frames.unshift(...others);
  }

  /** The next frame, whatever it is. */
  async any(): Promise<Frame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame) return frame;
      const came = new Promise<void>((resolve) => (this.#waiting = resolve));
      await soon(came, "a frame comes");
    }
  }

  /** The next frame; it must be of this type. */
  async next(type: FrameType): Promise<Frame> {
    const frame = await this.any();
    if (frame.type === type) return frame;
    throw new Error(`Expected ${NAMES.get(type)}, got ${NAMES.get(frame.type)} ${text(frame.payload)}`);
  }

  /** The request that comes next. */
  async open() {
    const frame = await this.next(FRAME.OPEN);
    const open = decodeOpen(frame.payload);
    if (!open) throw new Error("no OPEN");
    const head = JSON.parse(text(open.head)) as RequestHead;
    const { workerId, port } = open;
    return { stream: frame.stream, workerId, port, head, hasBody: (frame.flags & FLAG_END) === 0 };
  }

  /** Takes the body of a request to its end, giving credit as an agent does. */
  async body(stream: number): Promise<Uint8Array> {
    const { pieces, last } = await this.pieces(stream);
    if (last.type !== FRAME.DATA) throw new Error(`The body ended by ${NAMES.get(last.type)}.`);
    return new Uint8Array(await new Blob(pieces).arrayBuffer());
  }

  /** The same for a body that may end early; with the frame that ended it. */
  async pieces(stream: number): Promise<{ readonly pieces: Uint8Array[]; readonly last: Frame }> {
    const window = new ReceiveWindow(new WindowBudget(LINK_WINDOW_MAX_BYTES));
    const pieces: Uint8Array[] = [];
    for (;;) {
      const frame = await this.any();
      if (frame.type !== FRAME.DATA) return { pieces, last: frame };
      const { byteLength } = frame.payload;
      pieces.push(frame.payload);
      if (frame.flags & FLAG_END) return { pieces, last: frame };
      if (!window.received(byteLength)) throw new Error("There was no credit for so much.");
      const credit = window.consumed(byteLength);
      if (credit > 0) this.credit(stream, credit);
    }
  }

  /** Frames that are here and nobody asked for. */
  get unread(): readonly Frame[] {
    return this.#frames;
  }

  answer(stream: number, body: string, head: ResponseHead = OK): void {
    this.send(
      { type: FRAME.HEAD, stream, payload: json(head) },
      { type: FRAME.DATA, stream, flags: FLAG_END, payload: body },
    );
  }

  head(stream: number, head: ResponseHead = OK): void {
    this.send({ type: FRAME.HEAD, stream, payload: json(head) });
  }

  data(stream: number, payload: Uint8Array | string, flags = 0): void {
    this.send({ type: FRAME.DATA, stream, payload, flags });
  }

  end(stream: number): void {
    this.data(stream, "", FLAG_END);
  }

  /** The reason of the RESET that comes after data and credit. */
  async resetReason(): Promise<string> {
    for (;;) {
      const { type, payload } = await this.any();
      if (type === FRAME.RESET) return (JSON.parse(text(payload)) as { reason: string }).reason;
      if (type !== FRAME.DATA && type !== FRAME.CREDIT) throw new Error(`Unexpected ${NAMES.get(type)}`);
    }
  }

  /** Sends data within the credit that comes; returns how much when there is no more, for `patienceMs`. */
  async flood(stream: number, maxBytes: number, patienceMs = 60_000): Promise<number> {
    let open = LINK_WINDOW_BYTES;
    for (let sent = 0; ;) {
      const size = Math.min(open, maxBytes - sent, LINK_FRAME_MAX_BYTES);
      if (size > 0) this.data(stream, bytesOf(size));
      sent += size;
      open -= size;
      if (sent === maxBytes) return sent;
      if (open > 0) continue;
      // oxlint-disable-next-line edgerun/no-sleeps -- the caller says for how long no credit means that there is none
      const frame = await Promise.race([this.any(), scheduler.wait(patienceMs)]);
      if (frame?.type !== FRAME.CREDIT) return sent;
      open += decodeCredit(frame.payload) ?? 0;
    }
  }

  credit(stream: number, bytes: number): void {
    this.send({ type: FRAME.CREDIT, stream, payload: encodeCredit(bytes) });
  }

  reset(stream: number, reason: string, detail = "as the test wants"): void {
    this.send({ type: FRAME.RESET, stream, payload: json({ reason, detail }) });
  }
}

export const LB = 'type: "LB", scalerType: "REQUEST_COUNT", scalerValue: 4, workersMax: 3, idleTimeout: 60';

/** A load-balanced endpoint with one worker on one host, which takes requests. */
export async function linkedEndpoint(api: EdgeClient, settings = "") {
  const endpointId = await api.createEndpoint(`${LB}, workersMin: 1 ${settings}`);
  const agent = await ScriptedAgent.join(api, "linked");
  const workerId = await agent.bringUpWorker(endpointId);
  const link = new ScriptedLink(await agent.openLink(endpointId));
  link.ready(workerId);
  await link.heard();
  return {
    endpointId,
    agent,
    workerId,
    link,
    forward: (call: Partial<ForwardCall> = {}) => forward(endpointId, call),
  };
}

/** The same with two workers on the host. */
export async function linkedPair(api: EdgeClient) {
  const endpointId = await api.createEndpoint(`${LB}, workersMin: 2`);
  const agent = await ScriptedAgent.join(api, "linked");
  const [workerId = "", other = ""] = await agent.bringUpWorkers(endpointId, 2);
  const link = new ScriptedLink(await agent.openLink(endpointId));
  link.ready(workerId, other);
  await untilReady(endpointId, workerId);
  await untilReady(endpointId, other);
  return {
    endpointId,
    agent,
    workerId,
    other,
    link,
    forward: (call: Partial<ForwardCall> = {}) => forward(endpointId, call),
  };
}

/** Resolves once the object has heard that a worker takes requests. */
export async function untilReady(endpointId: string, workerId: string): Promise<void> {
  const affinity = `strict:${workerId}`;
  const response = await endpointObject(endpointId).fetch(
    `https://object/wake-up?direct=${crypto.randomUUID()}&affinity=${affinity}&until=${Date.now() + 60_000}`,
    { headers: { Upgrade: "websocket" } },
  );
  const channel = response.webSocket;
  if (!channel) throw new Error("no wake-up channel");
  const rung = new Promise((resolve) => channel.addEventListener("message", resolve, { once: true }));
  channel.accept();
  await soon(rung, `worker ${workerId} takes requests`);
  channel.close();
}

export function headOf(head: Partial<RequestHead> = {}): Uint8Array {
  return json({ kind: "http", method: "GET", target: "/", headers: [], ...head });
}

/** Brings a request to the object, as the gateway does. */
export function forward(endpointId: string, call: Partial<ForwardCall> = {}): Promise<ForwardReply> {
  const whole = {
    requestId: crypto.randomUUID(),
    head: headOf(),
    body: null,
    affinity: null,
    receivedAt: Date.now(),
    ...call,
  };
  return endpointObject(endpointId).forward(whole as never) as Promise<ForwardReply>;
}

/** An answer that must be one. */
export async function answered(reply: Promise<ForwardReply>) {
  const answer = await reply;
  if (answer.kind !== "answer") throw new Error(JSON.stringify(answer));
  return answer;
}

export async function readAll(body: Uint8Array | ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  return new Uint8Array(await new Response(body).arrayBuffer());
}

export async function vitalsOf(endpointId: string) {
  return await endpointObject(endpointId).vitals();
}

/** A body that the test writes piece by piece. */
export class WrittenBody extends RpcTarget {
  readonly #stream = new IdentityTransformStream();
  readonly writer = this.#stream.writable.getWriter();
  /** How often it was opened. */
  opened = 0;

  async open(): Promise<ReadableStream<Uint8Array>> {
    this.opened += 1;
    return this.#stream.readable;
  }

  /** Writes until the body is not wanted any more; returns how much was taken. */
  async writeForever(piece: Uint8Array): Promise<number> {
    for (let taken = 0; ; taken += piece.byteLength) {
      try {
        await this.writer.write(piece);
      } catch {
        return taken;
      }
    }
  }
}
