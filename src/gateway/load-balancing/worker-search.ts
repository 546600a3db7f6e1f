/** Finds a worker for one request: calls the object until there is one, or the time limit is over. */
import { requireClient } from "../client-presence.ts";
import { ignoreFailure } from "../../std/errors.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { LOAD_BALANCED_TIME_LIMIT_MS } from "./answer.ts";
import type { ResetReason } from "../../link/link-messages.ts";
import type { Affinity, NoWorker, ForwardFailure } from "../../forwarding/messages.ts";
import type { Unconfigured } from "../../endpoint/messages.ts";
import type { Env } from "../../env.ts";
import { awaitWakeUp } from "../wake-up.ts";
import { callEndpoint } from "../../management/endpoints/endpoint-directory.ts";
import { endpointObject, type EndpointStub } from "../../management/objects.ts";
import { waitLimitMs, writeAffinity } from "./affinity.ts";
import { ServiceError } from "../../contract/errors.ts";
import { AFFINITY_HEADER } from "./headers.ts";

type Kind = { readonly kind: string };
/** Replies that are not from a worker. */
type NoAnswer = Unconfigured | NoWorker | ForwardFailure;

export type SearchOptions = {
  readonly env: Env;
  readonly endpoint: EndpointConfig;
  readonly affinity: Affinity | null;
  /** Aborted when the client goes. */
  readonly signal: AbortSignal;
  readonly executionCtx: { waitUntil(work: Promise<unknown>): void };
  /** How long a worker may take to begin its answer. */
  readonly limitMs: number;
};

export class WorkerSearch {
  readonly requestId = crypto.randomUUID();
  readonly receivedAt = Date.now();
  readonly #options: SearchOptions;

  constructor(options: SearchOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => this.abort("aborted"));
  }

  get affinity(): Affinity | null {
    return this.#options.affinity;
  }

  get #waitLimitMs(): number {
    const seconds = Number(this.#options.env.LB_WAIT_SECONDS);
    return seconds > 0 ? seconds * 1_000 : waitLimitMs(this.affinity);
  }

  /** The reply of a worker; throws worker_timeout when none takes the request, and other errors of the table. */
  async ask<Reply extends Kind>(
    ask: (stub: EndpointStub) => Promise<Reply>,
  ): Promise<Exclude<Reply, NoAnswer>> {
    const untilAt = this.receivedAt + this.#waitLimitMs;
    for (let isOver = false; ; isOver = (await this.#awaitWorker(untilAt)) === "over") {
      requireClient(this.#options.signal);
      const reply = (await this.#within(ask)) as Exclude<Reply, NoAnswer> | NoWorker | ForwardFailure;
      if (isAnswer<Exclude<Reply, NoAnswer>>(reply)) return reply;
      if (reply.kind !== "wait") throw this.#errorOf(reply);
      if (isOver) throw workerTimeout(reply.detail); // the current reason, not that of the first call
    }
  }

  /** Ends the request at the worker, without delaying the answer to the client. */
  abort(reason: ResetReason): void {
    const { env, endpoint, executionCtx } = this.#options;
    const abortCall = endpointObject(env, endpoint.endpointId).abortForwarded(this.requestId, reason);
    executionCtx.waitUntil(abortCall.catch(ignoreFailure)); // an unreachable object has lost the request
  }

  /** The object finds a worker at once or not at all, so the duration of the call is that of the worker. */
  async #within<Reply extends Kind>(ask: (stub: EndpointStub) => Promise<Reply>): Promise<Reply> {
    const { env, endpoint, limitMs } = this.#options;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      this.abort("timeout");
      reject(workerTooSlow(null));
    }, limitMs);
    try {
      const call = callEndpoint(env, endpoint, ask) as unknown as Promise<Reply>;
      return await Promise.race([call, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #awaitWorker(untilAt: number): Promise<"look" | "over"> {
    const { env, endpoint, affinity, signal } = this.#options;
    const object = endpointObject(env, endpoint.endpointId);
    const query = { direct: this.requestId, ...writeAffinity(affinity), until: String(untilAt) };
    return (await awaitWakeUp(object, query, untilAt, signal)) === "over" ? "over" : "look";
  }

  #errorOf(reply: Exclude<NoWorker, { kind: "wait" }> | ForwardFailure): ServiceError {
    switch (reply.kind) {
      case "worker_gone":
        return new ServiceError(
          "affinity_worker_gone",
          `Worker ${this.affinity?.workerId} is no longer a worker of this endpoint. ` +
            `Leave ${AFFINITY_HEADER} out, or send the id alone, to get another one.`,
        );
      case "overloaded":
        return new ServiceError(
          "rate_limited",
          `${reply.limit} requests of this endpoint are in progress, which is its limit. Try again in a second.`,
          { retryAfterSeconds: 1 },
        );
      case "failed":
        return errorOfFailure(reply);
    }
  }
}

function isAnswer<Answer extends Kind>(reply: Answer | NoWorker | ForwardFailure): reply is Answer {
  return !["wait", "worker_gone", "overloaded", "failed"].includes(reply.kind);
}

export function errorOfFailure({ reason, detail, workerId }: ForwardFailure): ServiceError {
  switch (reason) {
    case "too_large":
      return new ServiceError("payload_too_large", detail, { workerId });
    case "timeout":
      return workerTooSlow(workerId);
    case "aborted":
    case "worker_gone":
    case "worker_failed":
    case "protocol":
    case "tunnel_gone": // no request is one
      return new ServiceError("worker_failed", detail, { workerId });
  }
}

function workerTimeout(why: string): ServiceError {
  return new ServiceError("worker_timeout", `timed out waiting for worker: ${why}`);
}

function workerTooSlow(workerId: string | null): ServiceError {
  return new ServiceError(
    "worker_too_slow",
    `The worker did not begin its answer within ${LOAD_BALANCED_TIME_LIMIT_MS / 60_000} minutes. ` +
      "Answer earlier and send the rest as it comes, or use an endpoint with a queue.",
    { workerId },
  );
}
