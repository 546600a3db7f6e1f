/** The agent's end of a link, by hand, and the calls that bring requests to it. */
import {
  decodeFrames,
  decodeOpen,
  encodeCredit,
  encodeFrames,
  FLAG_END,
  FRAME,
  type Frame,
  type FrameType,
} from "../../src/contract/link-frame.ts";
import type { RequestHead, ResponseHead } from "../../src/contract/link-messages.ts";
import type { DirectCall, DirectReply } from "../../src/endpoint/direct/messages.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { createEndpoint } from "./edge-client.ts";
import { endpointObject } from "./object.ts";

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
    this.send({ type: FRAME.WORKERS, stream: 0, payload: json({ workers }) });
  }

  /** The next frame; it must be of this type. */
  async next(type: FrameType): Promise<Frame> {
    while (this.#frames.length === 0) await new Promise<void>((resolve) => (this.#waiting = resolve));
    const frame = this.#frames.shift();
    if (frame?.type !== type) {
      const got = `${NAMES.get(frame?.type ?? 0)} ${text(frame?.payload ?? new Uint8Array())}`;
      throw new Error(`Expected ${NAMES.get(type)}, got ${got}`);
    }
    return frame;
  }

  /** The request that comes next. */
  async open() {
    const frame = await this.next(FRAME.OPEN);
    const open = decodeOpen(frame.payload);
    if (!open) throw new Error("no OPEN");
    const head = JSON.parse(text(open.head)) as RequestHead;
    return { stream: frame.stream, workerId: open.workerId, head, hasBody: (frame.flags & FLAG_END) === 0 };
  }

  /** Takes the body of a request to its end, giving credit for each piece. */
  async body(stream: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (;;) {
      const { payload, flags } = await this.next(FRAME.DATA);
      pieces.push(payload);
      if (flags & FLAG_END) return new Uint8Array(await new Blob(pieces).arrayBuffer());
      this.send({ type: FRAME.CREDIT, stream, payload: encodeCredit(payload.byteLength) });
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

  reset(stream: number, reason: string, detail = "as the test wants"): void {
    this.send({ type: FRAME.RESET, stream, payload: json({ reason, detail }) });
  }
}

export const LB = 'type: "LB", scalerType: "REQUEST_COUNT", scalerValue: 4, workersMax: 3, idleTimeout: 60';

/** A load-balanced endpoint with one worker on one host, which takes requests. */
export async function linkedEndpoint() {
  const endpointId = await createEndpoint(`${LB}, workersMin: 1`);
  const agent = await ScriptedAgent.join("linked");
  const workerId = await agent.bringUpWorker(endpointId);
  const link = new ScriptedLink(await agent.openLink(endpointId));
  link.ready(workerId);
  await untilReady(endpointId, workerId);
  return {
    endpointId,
    agent,
    workerId,
    link,
    direct: (call: Partial<DirectCall> = {}) => direct(endpointId, call),
  };
}

/** Resolves once the object has heard that a worker takes requests. */
export async function untilReady(endpointId: string, workerId: string): Promise<void> {
  const affinity = `strict:${workerId}`;
  const response = await endpointObject(endpointId).fetch(
    `https://object/doorbell?direct=${crypto.randomUUID()}&affinity=${affinity}&until=${Date.now() + 60_000}`,
    { headers: { Upgrade: "websocket" } },
  );
  const bell = response.webSocket;
  if (!bell) throw new Error("no doorbell");
  const rung = new Promise((resolve) => bell.addEventListener("message", resolve, { once: true }));
  bell.accept();
  await rung;
  bell.close();
}

export function headOf(head: Partial<RequestHead> = {}): Uint8Array {
  return json({ kind: "http", method: "GET", target: "/", headers: [], ...head });
}

/** Brings a request to the object, as the gateway does. */
export function direct(endpointId: string, call: Partial<DirectCall> = {}): Promise<DirectReply> {
  const whole = {
    requestId: crypto.randomUUID(),
    head: headOf(),
    body: null,
    affinity: null,
    receivedAt: Date.now(),
    ...call,
  };
  return endpointObject(endpointId).direct(whole as never) as Promise<DirectReply>;
}

/** An answer that must be one. */
export async function answered(reply: Promise<DirectReply>) {
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
