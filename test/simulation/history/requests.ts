/** What holds of load-balanced requests: at their clients, in the workers that have them, and between the two. */
import type { Container } from "../host/containers.ts";
import { partsOf, type RequestObserver } from "../host/request-worker.ts";
import type { World } from "../world/world.ts";
import { Conversations } from "./conversations.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

/** A request as its client knows it. Times are true time, ms of the history. */
export type SentRequest = {
  readonly mark: string;
  readonly sentAt: number;
  readonly parts: number;
  readonly bodyBytes: number;
  /** The worker that it asks for; null for any. */
  readonly workerId: string | null;
  /** Null for one to a pod. */
  readonly endpointId: string | null;
  /** Null for one to workers. */
  readonly podId: string | null;
  /** Its key is that of another account. */
  readonly isForeign: boolean;
  /** Its client has all of the answer, or waits no longer. */
  overAt: number | null;
};

/** What its client got; `isBroken`: it has seen the answer break off. */
export type ReceivedAnswer = {
  readonly mark: string | null;
  readonly workerId: string | null;
  readonly text: string;
  readonly isBroken: boolean;
};

export type RequestsParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

type Execution = {
  readonly mark: string;
  readonly container: Container;
  readonly begunAt: number;
  isOver: boolean;
};

/** Of docs/reference/load-balancing.md, those of the client's own mistakes aside. */
const ERRORS: ReadonlyMap<string, number> = new Map([
  ["worker_timeout", 400],
  ["affinity_worker_gone", 404],
  ["rate_limited", 429],
  ["worker_failed", 502],
  ["worker_too_slow", 524],
]);
const ERRORS_OF_PODS: ReadonlyMap<string, number> = new Map([
  ["not_found", 404],
  ["rate_limited", 429],
  ["worker_failed", 502],
  ["pod_not_running", 503],
  ["worker_too_slow", 524],
]);
/** Where there is nothing else, each request that a worker has is answered by it. */
const HARMLESS: ReadonlySet<Fault> = new Set<Fault>([
  "hookFails",
  "objectEvicted",
  "requestsRepeated",
  "workerForgets",
  "workerRepeats",
]);
/** Wait for a certain worker, and until that begins its answer; and what calls take. */
const ANSWER_MAX_MS = (5 + 5.5) * 60_000 + 15_000;
/** A worker that is to end waits at least so long for its requests. */
const GRACE_MS = 5.5 * 60_000;
/** From the end of its client, no worker gets a request after this, and one that has it loses it within this. */
const GONE_MS = 2_000;

export class Requests implements RequestObserver {
  readonly #parts: RequestsParts;
  readonly #sent = new Map<string, SentRequest>();
  readonly #executions = new Map<string, Execution>();
  /** No fault of this history keeps a request from its worker's answer. */
  readonly isHarmless: boolean;
  readonly conversations: Conversations;

  constructor(parts: RequestsParts) {
    this.#parts = parts;
    this.isHarmless = [...parts.plan.faults.keys()].every((fault) => HARMLESS.has(fault));
    this.conversations = new Conversations(parts, (mark) => {
      const request = this.#sent.get(mark);
      return request !== undefined && this.isSafe(request);
    });
  }

  /** For their clients, and at the workers: what a script asked for that has died, its object ends minutes later. */
  get areOver(): boolean {
    return this.#sent.values().every(({ overAt }) => overAt !== null) && !this.hasServed;
  }

  get all(): readonly SentRequest[] {
    return [...this.#sent.values()];
  }

  /** Nothing keeps it from being answered; pods are stopped as their owners like. */
  isSafe({ podId }: SentRequest): boolean {
    return this.isHarmless && podId === null;
  }

  hasBegun({ mark }: SentRequest): boolean {
    return this.#executions.has(mark);
  }

  // At the client

  send(request: SentRequest): void {
    this.#sent.set(request.mark, request);
  }

  over(request: SentRequest): void {
    request.overAt = this.#parts.world.elapsedMs;
    if (request.overAt - request.sentAt > ANSWER_MAX_MS && !this.hasBegun(request))
      this.#parts.violate(`request ${request.mark} was not answered in time`);
  }

  /** A worker's answer is that of its own request, whole and in order; or its client sees that it is not. */
  answered(request: SentRequest, answer: ReceivedAnswer): void {
    const { text, isBroken } = answer;
    const { violate, world } = this.#parts;
    const what = `request ${request.mark}`;
    world.note("clients", `${what} is answered${isBroken ? " and breaks off" : ""}`);
    this.served(request, answer);
    const whole = partsOf(request.mark, request.parts, request.bodyBytes).join("");
    if (isBroken ? !whole.startsWith(text) : text !== whole)
      violate(`${what} got "${text}" instead of "${whole}", ${isBroken ? "broken off" : "as if whole"}`);
    if (isBroken && this.isSafe(request)) violate(`the answer to ${what} broke off for no reason`);
  }

  /** It has the answer of a worker that may have it, or a WebSocket to one. */
  served(request: SentRequest, { mark, workerId }: Pick<ReceivedAnswer, "mark" | "workerId">): void {
    const { violate } = this.#parts;
    const what = `request ${request.mark}`;
    if (request.isForeign) violate(`${what} of another account got the answer of a worker`);
    if (mark !== request.mark) violate(`${what} got the answer of ${mark}`);
    const execution = this.#executions.get(request.mark);
    const expected = request.podId ?? workerId;
    if (execution?.container.spec.workerId !== expected)
      violate(`${what} has the answer of ${expected}, which has not had it`);
    if (request.podId !== null && workerId !== null) violate(`the answer of ${expected} names a worker`);
    if (request.podId === null && request.workerId !== null && request.workerId !== workerId)
      violate(`${what} is answered by ${workerId} instead of ${request.workerId}`);
  }

  /** An error of the edge. */
  refused(request: SentRequest, status: number, code: string, hasPlatformFaults: boolean): void {
    const { violate, world } = this.#parts;
    const what = `request ${request.mark} was refused with ${status} ${code}`;
    world.note("clients", what);
    if (request.isForeign) {
      if (status !== 404 && status !== 401 && !(hasPlatformFaults && status >= 500)) violate(what);
    } else if (status === 500 && hasPlatformFaults) return;
    else if ((request.podId === null ? ERRORS : ERRORS_OF_PODS).get(code) !== status) violate(what);
    else if (this.isSafe(request) && status > 404) violate(`${what} for no reason`);
  }

  // In the worker

  began = (mark: string, container: Container, headers: ReadonlyMap<string, string>): void => {
    const { violate, world } = this.#parts;
    const { workerId } = container.spec;
    const before = this.#executions.get(mark);
    if (before)
      violate(`request ${mark} is made to ${workerId} after ${before.container.spec.workerId} had it`);
    this.#executions.set(mark, { mark, container, begunAt: world.elapsedMs, isOver: false });
    if (headers.has("authorization")) violate(`${workerId} sees the key of the request ${mark}`);
    const request = this.#sent.get(mark);
    if (request) this.#checkReceiver(request, container);
  };

  #checkReceiver(request: SentRequest, { spec }: Container): void {
    const { violate, world } = this.#parts;
    const { mark, podId, endpointId, isForeign, overAt } = request;
    const { workerId } = spec;
    if (isForeign) violate(`${workerId} has the request ${mark} of another account`);
    if (podId !== null && podId !== workerId) violate(`${workerId} has the request ${mark} to ${podId}`);
    if (endpointId !== null && endpointId !== spec.endpointId)
      violate(`${workerId} has the request ${mark} to ${endpointId}`);
    if (overAt !== null && this.isHarmless && world.elapsedMs > overAt + GONE_MS)
      violate(`${workerId} gets the request ${mark}, whose client is gone`);
  }

  ended = (mark: string, container: Container): void => {
    const execution = this.#executions.get(mark);
    if (execution?.container === container) execution.isOver = true;
  };

  /** Requests are waited for, but not for those of a pod. */
  left = (container: Container): void => {
    const { world, violate } = this.#parts;
    const { workerId, pod } = container.spec;
    if (pod) return;
    for (const { mark, begunAt } of this.#openIn(container))
      if (world.elapsedMs - begunAt < GRACE_MS) violate(`${workerId} is ended, and has the request ${mark}`);
  };

  /** A request that goes out just when its server closes the connection is lost. */
  idleLong = ({ spec }: Container): void => {
    this.#parts.violate(`an idle connection to ${spec.workerId} is kept for as long as servers do`);
  };

  /** Workers have requests. */
  get hasServed(): boolean {
    return this.#executions.values().some(isOpen);
  }

  isServing(container: Container): boolean {
    return this.#openIn(container).length > 0;
  }

  /** Nothing goes on for a client that is gone; to be called where nothing hinders that. */
  checkAbandoned(): void {
    const { world, violate } = this.#parts;
    for (const execution of this.#executions.values()) {
      const overAt = this.#sent.get(execution.mark)?.overAt ?? null;
      if (isOpen(execution) && overAt !== null && world.elapsedMs > overAt + GONE_MS)
        violate(
          `${execution.container.spec.workerId} still has the request ${execution.mark}, which is over`,
        );
    }
  }

  #openIn(container: Container): Execution[] {
    return [...this.#executions.values()].filter((one) => one.container === container && isOpen(one));
  }
}

function isOpen({ isOver, container }: Execution): boolean {
  return !isOver && container.isRunning;
}
