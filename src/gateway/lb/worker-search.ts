/** The way of one request to a worker: it is asked for until there is one, or the time for it is over. */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { DIRECT_TIME_LIMIT_MS } from "../../contract/limits.ts";
import type { ResetReason } from "../../contract/link-messages.ts";
import type { Affinity, DirectAbsence, DirectFailure } from "../../endpoint/direct/messages.ts";
import type { Unconfigured } from "../../endpoint/messages.ts";
import type { Env } from "../../env.ts";
import { awaitRing } from "../doorbell.ts";
import { askEndpoint, endpointStub, type EndpointStub } from "../endpoint-directory.ts";
import { patienceMs, writeAffinity } from "./affinity.ts";
import { DirectError } from "./direct-error.ts";
import { AFFINITY_HEADER } from "./passing-headers.ts";

type Kind = { readonly kind: string };
/** What is no answer of a worker. */
type Without = Unconfigured | DirectAbsence | DirectFailure;

export type Seeker = {
  readonly env: Env;
  readonly endpoint: EndpointConfig;
  readonly affinity: Affinity | null;
  /** Of the client's request. */
  readonly signal: AbortSignal;
  readonly executionCtx: { waitUntil(work: Promise<unknown>): void };
  /** How long a worker may take to begin its answer. */
  readonly limitMs: number;
};

export class WorkerSearch {
  readonly requestId = crypto.randomUUID();
  readonly receivedAt = Date.now();
  readonly #seeker: Seeker;

  constructor(seeker: Seeker) {
    this.#seeker = seeker;
    seeker.signal.addEventListener("abort", () => this.abort("aborted"));
  }

  get affinity(): Affinity | null {
    return this.#seeker.affinity;
  }

  get #patienceMs(): number {
    const seconds = Number(this.#seeker.env.LB_WAIT_SECONDS);
    return seconds > 0 ? seconds * 1_000 : patienceMs(this.affinity);
  }

  /** The reply of a worker; throws what the client is told when there is none. */
  async ask<Reply extends Kind>(
    ask: (stub: EndpointStub) => Promise<Reply>,
  ): Promise<Exclude<Reply, Without>> {
    const untilAt = this.receivedAt + this.#patienceMs;
    for (let isOver = false; ; isOver = (await this.#awaitWorker(untilAt)) === "over") {
      if (this.#seeker.signal.aborted) throw CLIENT_GONE;
      const reply = (await this.#within(ask)) as Exclude<Reply, Without> | DirectAbsence | DirectFailure;
      if (isAnswer<Exclude<Reply, Without>>(reply)) return reply;
      if (reply.kind !== "wait") throw this.#refusal(reply);
      if (isOver) throw workerTimeout(reply.detail); // as it is now, not as it was when the wait began
    }
  }

  /** The worker's request ends, wherever it is by now; the client's answer does not wait for that. */
  abort(reason: ResetReason): void {
    const { env, endpoint, executionCtx } = this.#seeker;
    const told = endpointStub(env, endpoint.endpointId).abortDirect(this.requestId, reason);
    executionCtx.waitUntil(told.catch(() => {})); // an object that is not reached has no request any more
  }

  /** A worker is found at once or not at all, so the time of the call is that of the worker. */
  async #within<Reply extends Kind>(ask: (stub: EndpointStub) => Promise<Reply>): Promise<Reply> {
    const { env, endpoint, limitMs } = this.#seeker;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.abort("timeout");
      reject(workerTooSlow(null));
    }, limitMs);
    try {
      const asked = askEndpoint(env, endpoint, ask) as unknown as Promise<Reply>;
      return await Promise.race([asked, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #awaitWorker(untilAt: number): Promise<"look" | "over"> {
    const { env, endpoint, affinity, signal } = this.#seeker;
    const object = endpointStub(env, endpoint.endpointId);
    const query = { direct: this.requestId, ...writeAffinity(affinity), until: String(untilAt) };
    return (await awaitRing(object, query, untilAt, signal)) === "over" ? "over" : "look";
  }

  #refusal(reply: Exclude<DirectAbsence, { kind: "wait" }> | DirectFailure): DirectError {
    switch (reply.kind) {
      case "worker_gone":
        return new DirectError(
          "affinity_worker_gone",
          `Worker ${this.affinity?.workerId} is none of this endpoint any more. ` +
            `Leave ${AFFINITY_HEADER} out, or send the id alone, to get another one.`,
        );
      case "overloaded":
        return new DirectError(
          "rate_limited",
          `${reply.limit} requests of this endpoint are on their way, which is its limit. Try again in a second.`,
          { retryAfterSeconds: 1 },
        );
      case "failed":
        return failure(reply);
    }
  }
}

/** Nobody is there any more to read it. */
const CLIENT_GONE = new DirectError("worker_failed", "The client has gone before a worker was found.");

function isAnswer<Answer extends Kind>(reply: Answer | DirectAbsence | DirectFailure): reply is Answer {
  return !["wait", "worker_gone", "overloaded", "failed"].includes(reply.kind);
}

function failure({ reason, detail, workerId }: DirectFailure): DirectError {
  switch (reason) {
    case "too_large":
      return new DirectError("payload_too_large", detail, { workerId });
    case "timeout":
      return workerTooSlow(workerId);
    case "aborted":
    case "worker_gone":
    case "worker_failed":
    case "protocol":
      return new DirectError("worker_failed", detail, { workerId });
  }
}

function workerTimeout(why: string): DirectError {
  return new DirectError("worker_timeout", `timed out waiting for worker: ${why}`);
}

function workerTooSlow(workerId: string | null): DirectError {
  return new DirectError(
    "worker_too_slow",
    `The worker did not begin its answer within ${DIRECT_TIME_LIMIT_MS / 60_000} minutes. ` +
      "Answer earlier and send the rest as it comes, or use an endpoint with a queue.",
    { workerId },
  );
}
