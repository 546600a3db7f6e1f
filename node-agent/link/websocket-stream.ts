/** A WebSocket between a stream of a link and a worker's server. Pings are answered on either side of the agent. */
import { errorCode } from "../../src/std/errors.ts";
import { type IncomingMessage, validateHeaderName, validateHeaderValue } from "node:http";
import { WebSocket } from "ws";
import { FLAG_FIN, FRAME, type Frame, LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";
import {
  type Close,
  closeSchema,
  WEBSOCKET_MESSAGE_MAX_BYTES,
  decodeJson,
} from "../../src/link/link-messages.ts";
import { nounOf } from "./admission.ts";
import { forwardResponse, failRequest, headFailure } from "./worker-failure.ts";
import { BufferShare } from "./message-buffer.ts";
import type { ForwardedRequest, LinkStream } from "./link-stream.ts";
import { responseHead, upgradeHeaders } from "./message-headers.ts";

const TOO_LARGE: Close = { code: 1009, reason: "The message is too large." };
const TOO_MUCH =
  "Too much waits on the host of the WebSocket's worker: its client does not read, or a message never ends.";
/** Header of a ping or pong, which has no mask. */
const CONTROL_HEADER_BYTES = 2;
/** Codes that are never sent: there was none, or no goodbye at all. */
const NO_CODE = 1005;
const NO_CLOSE = 1006;

export class WebsocketStream implements LinkStream {
  readonly #options: ForwardedRequest;
  readonly #socket: WebSocket;
  #upgrade: IncomingMessage | null = null;
  /** Size of the message whose pieces are arriving. */
  #messageBytes = 0;
  readonly #share: BufferShare;
  /** Size so far of the worker's message that is not complete. */
  #pendingBytes = 0;
  #hasAnswered = false;
  #isOpen = false;
  #hasLeft = false;

  /** Throws when the head cannot be written as HTTP. */
  constructor(options: ForwardedRequest) {
    this.#options = options;
    this.#share = new BufferShare(options.buffered);
    options.channel.onBuffered = (bytes) => this.#share.add(bytes);
    this.#socket = openSocket(options);
    this.#watch(this.#socket);
  }

  /** Until the worker has opened it; a plain answer is one like others. */
  get isAwaited(): boolean {
    return !this.#isOpen;
  }

  receive(frame: Frame): void {
    const { channel } = this.#options;
    if (!channel.received(frame.payload.byteLength)) return this.#failProtocol("There was no credit.");
    if (frame.type === FRAME.CLOSE) return this.#receivedClose(frame.payload);
    if (frame.type !== FRAME.TEXT && frame.type !== FRAME.BINARY) {
      return this.#failProtocol("This request is a WebSocket.");
    }
    if (this.#socket.readyState === WebSocket.CONNECTING) return this.#failProtocol("It is not open yet.");
    this.#messageBytes += frame.payload.byteLength;
    if (this.#messageBytes > WEBSOCKET_MESSAGE_MAX_BYTES) return this.#closeBoth(TOO_LARGE);
    if ((frame.flags & FLAG_FIN) !== 0) this.#messageBytes = 0;
    this.#write(frame);
  }

  abort(): void {
    this.#options.channel.drop();
    this.#socket.terminate();
  }

  #watch(socket: WebSocket): void {
    const { channel } = this.#options;
    socket.on("upgrade", (response) => {
      this.#upgrade = response;
      // Which subprotocol the worker may choose is for the client to judge; `ws` would, knowing of none.
      delete response.headers["sec-websocket-protocol"];
    });
    socket.on("ping", (data) => {
      this.#messageEnded(data.byteLength + CONTROL_HEADER_BYTES);
      // A worker that does not read its pongs must not fill the agent's memory with them.
      if (socket.bufferedAmount < LINK_FRAME_MAX_BYTES) socket.pong(data);
    });
    socket.on("pong", (data) => this.#messageEnded(data.byteLength + CONTROL_HEADER_BYTES));
    socket.on("open", () => this.#opened());
    socket.on("unexpected-response", (_, response) => this.#refused(response));
    socket.on("message", (message: Buffer, isBinary) => {
      this.#messageEnded();
      channel.send(isBinary ? FRAME.BINARY : FRAME.TEXT, message);
      if (channel.isFull) socket.pause();
    });
    socket.on("error", (error) => this.#failed(error));
    socket.on("close", (code, reason) => this.#closed(code, reason.toString()));
  }

  /** Bytes came in of the worker; those of a message are seen only when it is whole. */
  #arrived(bytes: number): void {
    this.#pendingBytes += bytes;
    this.#share.add(bytes);
    if (!this.#share.isTooLarge) return;
    this.#options.channel.fail("worker_failed", TOO_MUCH);
    this.#socket.terminate();
  }

  #messageEnded(bytes = this.#pendingBytes): void {
    this.#pendingBytes -= bytes;
    this.#share.add(-bytes);
  }

  #opened(): void {
    const { channel, admission } = this.#options;
    const head = this.#upgrade && responseHead(this.#upgrade);
    this.#hasAnswered = true;
    // Before the socket's other listener, which reports complete messages.
    this.#upgrade?.socket.prependListener("data", (bytes: Buffer) => this.#arrived(bytes.byteLength));
    channel.onDrain = () => this.#socket.resume();
    this.#isOpen = Boolean(head);
    if (head) return channel.head(head);
    channel.fail("worker_failed", headFailure(admission));
    this.#socket.terminate();
  }

  /** A plain answer: the worker does not want a WebSocket. */
  #refused(response: IncomingMessage): void {
    const { channel, admission } = this.#options;
    this.#hasAnswered = true;
    channel.receivedLast();
    response.on("close", () => this.#leave());
    if (!forwardResponse(response, channel, admission)) response.destroy();
  }

  #failed(error: Error): void {
    const { channel } = this.#options;
    const close = closeOf(error);
    if (close) channel.close(close);
    if (channel.hasEnded) return;
    failRequest(error, this.#options, this.#hasAnswered);
  }

  #write({ type, flags, payload }: Frame): void {
    const { channel } = this.#options;
    const options = { binary: type === FRAME.BINARY, fin: (flags & FLAG_FIN) !== 0 };
    this.#socket.send(payload, options, () => channel.consumed(payload.byteLength));
  }

  #receivedClose(payload: Uint8Array): void {
    const parsed = closeSchema.safeParse(decodeJson(payload));
    if (!parsed.success) return this.#failProtocol("A close without a code.");
    const { code, reason } = parsed.data;
    this.#options.channel.receivedClose();
    this.#socket.resume(); // or the close of the worker would not be read
    if (code === NO_CODE) this.#socket.close();
    else if (canBeSent(code)) this.#socket.close(code, reason);
    else this.#socket.terminate();
  }

  #closed(code: number, reason: string): void {
    const { channel, admission } = this.#options;
    this.#leave();
    if (code === NO_CLOSE && !channel.hasEnded && !channel.hasReceivedLast) {
      const detail = `The ${nounOf(admission)} broke off its WebSocket on port ${admission.port}.`;
      return channel.fail("worker_failed", detail);
    }
    channel.close({ code, reason });
  }

  #closeBoth(close: Close): void {
    this.#options.channel.close(close);
    this.#socket.close(close.code, close.reason);
  }

  #failProtocol(detail: string): void {
    this.#options.channel.fail("protocol", detail);
    this.#socket.terminate();
  }

  #leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#messageEnded();
    this.#options.admission.release();
  }
}

/** Throws when the head cannot be written as HTTP. */
function openSocket({ admission, head }: ForwardedRequest): WebSocket {
  const headers = upgradeHeaders(head);
  if (/[^\u0021-\u00ff]/.test(head.target)) throw new Error("Its target has characters that none may have");
  for (const [name, values] of headers) {
    validateHeaderName(name);
    for (const value of values) validateHeaderValue(name, value);
  }
  return new WebSocket(`ws://${admission.host}:${admission.port}/`, {
    perMessageDeflate: false,
    autoPong: false,
    followRedirects: false,
    maxPayload: WEBSOCKET_MESSAGE_MAX_BYTES,
    finishRequest: (request) => {
      request.path = head.target; // unchanged; a URL would normalize it
      for (const [name, values] of headers) request.setHeader(name, values);
      request.end();
    },
  });
}

/** What the worker's socket was closed with for what the worker sent. */
function closeOf(error: Error): Close | null {
  const code = errorCode(error);
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return TOO_LARGE;
  if (code === "WS_ERR_INVALID_UTF8") return { code: 1007, reason: "The text is no UTF-8." };
  if (code?.startsWith("WS_ERR_")) return { code: 1002, reason: "No WebSocket." };
  return null;
}

function canBeSent(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, NO_CODE, NO_CLOSE].includes(code)) || code >= 3000;
}
