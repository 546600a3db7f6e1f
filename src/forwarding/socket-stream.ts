/** An open WebSocket of a client on a link. What must outlast the object's memory is in its attachment. */
import {
  closeSchema,
  resetSchema,
  type Close,
  type Reset,
  WEBSOCKET_MESSAGE_MAX_BYTES,
  decodeJson,
  encodeJson,
} from "../link/link-messages.ts";
import { decodeCredit, encodeCredit, FRAME, type Frame, LINK_FRAME_MAX_BYTES } from "../link/link-frame.ts";
import type { WindowBudget } from "../link/link-window.ts";
import { SocketBacklog, SocketMessage } from "./socket-buffers.ts";
import { resetFrame, type Stream, type StreamEnd, type StreamPort } from "./stream.ts";

export type SocketAttachment = {
  readonly stream: number;
  readonly hostId: string;
  readonly workerId: string;
  readonly requestId: string;
  /** When it was requested, and when a worker got it; epoch ms. */
  readonly receivedAt: number;
  readonly startedAt: number;
  /** Credit that the agent has left. */
  readonly open: number;
};

const encoder = new TextEncoder();

export class SocketStream implements Stream {
  readonly isAwaited = false;
  readonly #socket: WebSocket;
  readonly #attachment: SocketAttachment;
  readonly #port: StreamPort;
  readonly #toAgent: SocketBacklog;
  readonly #toClient: SocketMessage;
  /** The client has closed; sent to the agent after the messages before that. */
  #closing: Close | undefined;
  #isOver = false;

  constructor(socket: WebSocket, attachment: SocketAttachment, port: StreamPort, budget: WindowBudget) {
    this.#socket = socket;
    this.#attachment = attachment;
    this.#port = port;
    this.#toAgent = new SocketBacklog(port.send, budget, attachment.open);
    this.#toClient = new SocketMessage(budget);
    this.#remember();
  }

  get requestId(): string {
    return this.#attachment.requestId;
  }

  get workerId(): string {
    return this.#attachment.workerId;
  }

  /** Data is in memory only. */
  get isUnderway(): boolean {
    return !this.#isOver && (!this.#toAgent.isEmpty || this.#toClient.isBegun);
  }

  // The agent

  take(frame: Frame): string | undefined {
    switch (frame.type) {
      case FRAME.TEXT:
      case FRAME.BINARY:
        return this.#takePiece(frame);
      case FRAME.CREDIT:
        return this.#takeCredit(frame.payload);
      case FRAME.CLOSE:
        return this.#takeClose(frame.payload);
      case FRAME.RESET:
        return this.#takeReset(frame.payload);
      case FRAME.OPEN:
      case FRAME.HEAD:
      case FRAME.DATA:
      case FRAME.WORKERS:
      case FRAME.BEAT:
        return "A WebSocket has no such frame.";
    }
  }

  settle(): void {
    // Nothing depends on the end of a message of the link.
  }

  isOverdue(): boolean {
    return false; // the socket of its client closes by itself
  }

  break(reset: Reset): void {
    if (this.#isOver) return;
    this.#port.send(resetFrame(reset));
    this.#end(reset.reason, closeOf(reset));
  }

  #takePiece(frame: Frame): string | undefined {
    const { byteLength } = frame.payload;
    if (byteLength > LINK_FRAME_MAX_BYTES) return "The frame is too large.";
    if (byteLength > 0) this.#port.send({ type: FRAME.CREDIT, flags: 0, payload: encodeCredit(byteLength) });
    const gathered = this.#toClient.add(frame);
    if (gathered.kind === "wrong") return gathered.error;
    if (gathered.kind === "too_large") this.break(TOO_LARGE);
    if (gathered.kind === "message") this.#sendToClient(gathered.message);
    return undefined;
  }

  #sendToClient(message: string | Uint8Array): void {
    try {
      this.#socket.send(message);
    } catch {
      // The client has just closed, which is on its way.
    }
  }

  #takeCredit(payload: Uint8Array): string | undefined {
    const bytes = decodeCredit(payload);
    if (bytes === undefined || !this.#toAgent.credited(bytes))
      return "The credit is malformed, or larger than the window.";
    this.#remember();
    this.#closeIfSent();
    return undefined;
  }

  #takeClose(payload: Uint8Array): string | undefined {
    const close = closeSchema.safeParse(decodeJson(payload));
    if (!close.success) return "CLOSE has a code and a reason.";
    this.#sendClose(close.data);
    this.#end("complete", close.data);
    return undefined;
  }

  #takeReset(payload: Uint8Array): string | undefined {
    const reset = resetSchema.safeParse(decodeJson(payload));
    if (!reset.success) return "A reset must state its reason and a detail.";
    this.#end(reset.data.reason, closeOf(reset.data));
    return undefined;
  }

  // The client

  takeMessage(message: string | ArrayBuffer): void {
    if (this.#isOver || this.#closing) return;
    const isText = typeof message === "string";
    const bytes = isText ? encoder.encode(message) : new Uint8Array(message);
    if (bytes.byteLength > WEBSOCKET_MESSAGE_MAX_BYTES) return this.break(TOO_LARGE);
    const isTaken = this.#toAgent.add({ type: isText ? FRAME.TEXT : FRAME.BINARY, bytes });
    if (isTaken) return this.#remember();
    this.#port.send(resetFrame(OVERRUN));
    this.#end("worker_failed", { code: CLOSE_CODE.tryLater, reason: OVERRUN.detail });
  }

  clientClosed(code: number, reason: string): void {
    if (this.#isOver || this.#closing) return;
    this.#closing = sendable({ code, reason });
    this.#closeIfSent();
  }

  #closeIfSent(): void {
    if (this.#isOver || !this.#closing || !this.#toAgent.isEmpty) return;
    this.#sendClose(this.#closing);
    this.#end("complete", this.#closing);
  }

  #sendClose(close: Close): void {
    this.#port.send({ type: FRAME.CLOSE, flags: 0, payload: encodeJson(close) });
  }

  #remember(): void {
    const { open } = this.#toAgent;
    if (this.#isOver || this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.serializeAttachment({ ...this.#attachment, open } satisfies SocketAttachment);
  }

  #end(end: StreamEnd, close: Close): void {
    this.#isOver = true;
    this.#toAgent.drop();
    this.#toClient.drop();
    closeSocket(this.#socket, close);
    this.#port.end(end);
  }
}

const TOO_LARGE: Reset = {
  reason: "too_large",
  detail: `A message may have ${WEBSOCKET_MESSAGE_MAX_BYTES} bytes.`,
};
const OVERRUN: Reset = { reason: "worker_failed", detail: "The worker does not read its messages." };

function closeOf({ reason, detail }: Reset): Close {
  const code = reason === "too_large" ? CLOSE_CODE.tooLarge : CLOSE_CODE.internal;
  return { code, reason: detail };
}

/** Closing WebSockets: which codes may be sent, and what becomes of the others. */

export const CLOSE_CODE = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  tooLarge: 1009,
  internal: 1011,
  tryLater: 1013,
} as const;

/** Codes that stand for no code, a lost connection or failed TLS, and are never sent. */
const NO_STATUS = 1005;
const NEVER_SENT = new Set([1004, 1006, 1015]);
const REASON_MAX_BYTES = 123;

/** A close as it may be sent on. */
export function sendable({ code, reason }: Close): Close {
  if (code === NO_STATUS) return { code: CLOSE_CODE.normal, reason: "" };
  if (NEVER_SENT.has(code)) return { code: CLOSE_CODE.goingAway, reason: cut(reason) };
  return { code, reason: cut(reason) };
}

/** Closes a socket that may be closed already. */
export function closeSocket(socket: WebSocket, close: Close): void {
  const { code, reason } = sendable(close);
  try {
    socket.close(code, reason);
  } catch {
    // It has just closed.
  }
}

function cut(reason: string): string {
  const { read } = encoder.encodeInto(reason, new Uint8Array(REASON_MAX_BYTES));
  return reason.slice(0, read);
}
