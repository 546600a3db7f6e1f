/** A request and its answer on a link. */
import {
  decodeCredit,
  encodeCredit,
  encodeOpen,
  FLAG_END,
  FRAME,
  type Frame,
  LINK_FRAME_MAX_BYTES,
} from "../link/link-frame.ts";
import { resetSchema, type Reset, decodeJson } from "../link/link-messages.ts";
import type { WindowBudget } from "../link/link-window.ts";
import { LOAD_BALANCED_BODY_MAX_BYTES } from "../contract/limits.ts";
import { AnswerBody } from "./answer-body.ts";
import type { ForwardFailure, ForwardReply } from "./messages.ts";
import { RequestBody, type RequestSource } from "./request-body.ts";
import { resetFrame, type Stream, type StreamEnd, type StreamPort } from "./stream.ts";

/** returned: the worker never had the request, which is still complete; `why` in case no other worker takes it. */
export type HttpReply =
  | ForwardFailure
  | Extract<ForwardReply, { readonly kind: "answer" }>
  | { readonly kind: "returned"; readonly why: ForwardFailure };

export type HttpRequest = { readonly requestId: string; readonly workerId: string; readonly port?: number };

/** Beyond the time that the callers of the object give a worker until it begins its answer, and for each pause in it. */
export const REQUEST_OVERDUE_MS = 6 * 60_000;

export class HttpStream implements Stream {
  readonly requestId: string;
  readonly workerId: string;
  readonly isAwaited = true;
  readonly #target: HttpRequest;
  readonly reply: Promise<HttpReply>;
  readonly #port: StreamPort;
  readonly #resolve: (reply: HttpReply) => void;
  readonly #request: RequestBody;
  readonly #answer: AnswerBody;
  #head: Uint8Array | undefined;
  #source: RequestSource | undefined;
  /** When it began, or the worker last sent something of its answer. */
  #movedAt = Date.now();
  #isReplied = false;
  #isOver = false;

  constructor(request: HttpRequest, port: StreamPort, budget: WindowBudget) {
    this.requestId = request.requestId;
    this.workerId = request.workerId;
    this.#target = request;
    this.#port = port;
    const { promise, resolve } = Promise.withResolvers<HttpReply>();
    this.reply = promise;
    this.#resolve = resolve;
    this.#request = new RequestBody((payload, isLast) =>
      port.send({ type: FRAME.DATA, flags: isLast ? FLAG_END : 0, payload }),
    );
    this.#answer = new AnswerBody(budget, {
      credit: (bytes) => port.send({ type: FRAME.CREDIT, flags: 0, payload: encodeCredit(bytes) }),
      abandoned: () => this.break(ABANDONED),
    });
  }

  /** Sends the request. A body of bytes goes in the same message as the head. */
  send(head: Uint8Array, body: Uint8Array | RequestSource | null): void {
    const payload = encodeOpen(this.#target, head);
    if (body === null || (body instanceof Uint8Array && body.byteLength === 0)) {
      this.#request.sendNothing();
      return this.#port.send({ type: FRAME.OPEN, flags: FLAG_END, payload });
    }
    const open = { type: FRAME.OPEN, flags: 0, payload };
    if (body instanceof Uint8Array) {
      this.#request.sendNothing();
      return this.#port.send(open, { type: FRAME.DATA, flags: FLAG_END, payload: body });
    }
    this.#source = body;
    this.#port.send(open);
    void this.#sendFrom(body);
  }

  /** The upgrade was declined: it is a request without a body. */
  hasNoBody(): void {
    this.#request.sendNothing();
  }

  /** Asks for a WebSocket: what follows are its messages. */
  sendUpgrade(head: Uint8Array): void {
    this.#port.send({ type: FRAME.OPEN, flags: 0, payload: encodeOpen(this.#target, head) });
  }

  take({ type, flags, payload }: Frame): string | undefined {
    switch (type) {
      case FRAME.HEAD:
        return this.#takeHead(payload, flags);
      case FRAME.DATA:
        return this.#takeData(payload, flags);
      case FRAME.CREDIT:
        return this.#takeCredit(payload);
      case FRAME.RESET:
        return this.#takeReset(payload);
      case FRAME.OPEN:
      case FRAME.TEXT:
      case FRAME.BINARY:
      case FRAME.CLOSE:
      case FRAME.WORKERS:
      case FRAME.BEAT:
        return "A request has no such frame.";
    }
  }

  settle(): void {
    if (this.#isOver || !this.#head) return;
    if (!this.#isReplied) {
      this.#isReplied = true;
      const body = this.#answer.body();
      this.#resolve({ kind: "answer", workerId: this.workerId, head: this.#head, body });
    }
    if (!this.#answer.isEnded) return;
    if (this.#request.isSent) this.#end("complete");
    else this.#request.answerIsOver();
  }

  /** Nothing tells the object that the isolate of its caller has died while the worker is silent. */
  isOverdue(now: number): boolean {
    return now > this.#movedAt + REQUEST_OVERDUE_MS && !this.#answer.isUnread;
  }

  break(reset: Reset): void {
    if (this.#isOver) return;
    this.#port.send(resetFrame(reset));
    this.#fail(reset);
  }

  #takeHead(head: Uint8Array, flags: number): string | undefined {
    if (this.#head) return "An answer has one head.";
    if (head.byteLength > LINK_FRAME_MAX_BYTES) return "The head of an answer is too large.";
    this.#source?.taken();
    this.#movedAt = Date.now();
    this.#head = head.slice(); // the message may hold frames of others
    if (flags & FLAG_END) this.#answer.end();
    return undefined;
  }

  #takeData(payload: Uint8Array, flags: number): string | undefined {
    if (!this.#head) return "An answer begins with its head.";
    if (this.#answer.isEnded) return "The answer has ended: no data may follow.";
    if (payload.byteLength > LINK_FRAME_MAX_BYTES) return "The frame is too large.";
    this.#movedAt = Date.now();
    const outcome = this.#answer.take(payload);
    if (outcome === "beyond_credit") return "There was no credit for so many bytes.";
    if (outcome === "too_large") this.break(tooLarge("answer"));
    else if (flags & FLAG_END) this.#answer.end();
    return undefined;
  }

  #takeCredit(payload: Uint8Array): string | undefined {
    const bytes = decodeCredit(payload);
    if (bytes === undefined || !this.#request.credited(bytes))
      return "The credit is malformed, or larger than the window.";
    this.#source?.taken();
    return undefined;
  }

  #takeReset(payload: Uint8Array): string | undefined {
    const reset = resetSchema.safeParse(decodeJson(payload));
    if (!reset.success) return "A reset must state its reason and a detail.";
    const isReturned = reset.data.reason === "worker_gone" && !this.#head && !this.#source?.isTaken;
    if (isReturned) this.#giveBack(reset.data);
    else this.#fail(reset.data);
    return undefined;
  }

  async #sendFrom(source: RequestSource): Promise<void> {
    const end = await this.#request.sendFrom(source);
    if (this.#isOver) return;
    switch (end) {
      case "too_large":
        return this.break(tooLarge("request"));
      case "aborted":
        return this.break(BROKEN_OFF);
      case "unwanted":
        this.#port.send(resetFrame(UNWANTED));
        return this.#end("complete");
      case "sent":
      case "stopped":
        if (this.#answer.isEnded) this.#end("complete");
    }
  }

  #fail({ reason, detail }: Reset): void {
    const { workerId } = this;
    this.#end(reason);
    this.#answer.break(detail);
    this.#request.stop();
    this.#resolve({ kind: "failed", reason, detail, workerId });
  }

  #giveBack({ reason, detail }: Reset): void {
    const { workerId } = this;
    this.#end("returned");
    this.#request.leave();
    this.#resolve({ kind: "returned", why: { kind: "failed", reason, detail, workerId } });
  }

  #end(end: StreamEnd): void {
    this.#isOver = true;
    this.#port.end(end);
  }
}

const ABANDONED: Reset = { reason: "aborted", detail: "The client no longer reads the answer." };
const BROKEN_OFF: Reset = { reason: "aborted", detail: "The client broke off its request." };
const UNWANTED: Reset = { reason: "aborted", detail: "The answer was complete before the request." };

function tooLarge(what: "request" | "answer"): Reset {
  const detail = `The body of the ${what} has more than ${LOAD_BALANCED_BODY_MAX_BYTES} bytes.`;
  return { reason: "too_large", detail };
}
