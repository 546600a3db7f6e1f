/** A request and its answer, between a stream of a link and a worker's server. */
import { type Agent, type ClientRequest, request as httpRequest } from "node:http";
import { FLAG_END, FRAME, type Frame } from "../../src/link/link-frame.ts";
import { nounOf } from "./admission.ts";
import { forwardResponse, failRequest } from "./worker-failure.ts";
import type { ForwardedRequest, LinkStream } from "./link-stream.ts";
import { type FramedHeaders, requestHeaders } from "./message-headers.ts";

export type HttpStreamOptions = ForwardedRequest & {
  /** Frames with a body follow. */
  readonly hasBody: boolean;
  /** Keeps connections to workers. */
  readonly connections: Agent;
};

const HEAD_MAX_BYTES = 64 * 1024;

export class HttpStream implements LinkStream {
  readonly isAwaited = true;
  readonly #options: HttpStreamOptions;
  readonly #headers: FramedHeaders;
  readonly #request: ClientRequest;
  /** What is missing of the body, by its Content-Length. */
  #bytesLeft: number;
  /** Given to the connection, which has not sent them yet. */
  #unflushedBytes = 0;
  #isAnswered = false;
  /** The worker does not read any more. */
  #isClosed = false;

  /** Throws when the head cannot be written as HTTP. */
  constructor(options: HttpStreamOptions) {
    this.#options = options;
    this.#headers = requestHeaders(options.head, options.hasBody);
    this.#bytesLeft = this.#headers.bodyBytes ?? Number.POSITIVE_INFINITY;
    this.#request = this.#send();
    // The head is sent before its body arrives: a worker may answer the head alone.
    if (options.hasBody) this.#request.flushHeaders();
    else this.#receivedEnd();
  }

  receive({ type, flags, payload }: Frame): void {
    if (type !== FRAME.DATA) return this.#failProtocol("This request is no WebSocket.");
    if (!this.#options.channel.received(payload.byteLength))
      return this.#failProtocol("There was no credit.");
    this.#bytesLeft -= payload.byteLength;
    if (this.#bytesLeft < 0) return this.#failProtocol("The body is longer than its Content-Length.");
    this.#write(payload);
    if ((flags & FLAG_END) !== 0) this.#receivedEnd();
  }

  #receivedEnd(): void {
    if (Number.isFinite(this.#bytesLeft) && this.#bytesLeft > 0) {
      return this.#failProtocol("The body is shorter than its Content-Length.");
    }
    if (!this.#isClosed) this.#request.end();
    this.#options.channel.receivedLast();
  }

  abort(): void {
    this.#options.channel.drop();
    this.#request.destroy();
  }

  #send(): ClientRequest {
    const { admission, head, channel, connections } = this.#options;
    const request = httpRequest({
      agent: connections,
      host: admission.host,
      port: admission.port,
      method: head.method,
      path: head.target,
      headers: this.#headers.flat,
      maxHeaderSize: HEAD_MAX_BYTES,
    });
    request.on("response", (response) => {
      this.#isAnswered = true;
      if (!forwardResponse(response, channel, admission)) request.destroy();
    });
    request.on("upgrade", (_, socket) => {
      socket.destroy();
      channel.fail(
        "worker_failed",
        `The ${nounOf(admission)} on port ${admission.port} changed the protocol without a request to do so.`,
      );
    });
    request.on("error", (error) => this.#failed(error));
    request.on("close", () => this.#closed());
    return request;
  }

  #write(payload: Uint8Array): void {
    const { channel } = this.#options;
    const { byteLength } = payload;
    if (this.#isClosed || byteLength === 0) return channel.consumed(byteLength);
    this.#unflushedBytes += byteLength;
    this.#request.write(ownBytes(payload), () => {
      if (this.#isClosed) return;
      this.#unflushedBytes -= byteLength;
      channel.consumed(byteLength);
    });
  }

  #failed(error: Error): void {
    if (this.#options.channel.isOver) return;
    // A response that has begun reports its own end; a complete one is valid even if the request was not read.
    if (this.#isAnswered) return;
    failRequest(error, this.#options);
  }

  /** The worker sends and reads no more; what the edge still sends is dropped. */
  #closed(): void {
    const { channel, admission } = this.#options;
    if (this.#isClosed) return;
    this.#isClosed = true;
    admission.release();
    if (!this.#isAnswered)
      channel.fail("worker_failed", `The ${nounOf(admission)} on port ${admission.port} gave no answer.`);
    channel.consumed(this.#unflushedBytes);
  }

  #failProtocol(detail: string): void {
    this.#options.channel.fail("protocol", detail);
    this.#request.destroy();
  }
}

/** Copies a small view, which would keep the whole message alive. */
function ownBytes(payload: Uint8Array): Uint8Array {
  return payload.byteLength * 2 < payload.buffer.byteLength ? Buffer.from(payload) : payload;
}
