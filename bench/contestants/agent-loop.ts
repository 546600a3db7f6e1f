/**
 * The scripted agent's conversation about jobs, by the rules of the exchange: a call brings the results of the
 * last jobs and waits for the next ones.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  type DispatchedJob,
  type ExchangeReply,
  exchangeReplySchema,
  type ExchangeRequest,
} from "../../src/contract/agent/agent.ts";
import type { Latency } from "../load/order.ts";
import { latencyOf } from "../load/percentiles.ts";
import type { Host } from "./agent-host.ts";
import { SLOTS } from "./contestant.ts";
import { answerTo } from "./handler.ts";

const HOLD_MS = 50_000;
const RETRY_MS = 200;

type Turn = Pick<ExchangeRequest, "slots" | "holdMs"> & Partial<ExchangeRequest>;

type AgentLoopSettings = { readonly endpointId: string; readonly knowsShards?: boolean };

export class AgentLoop {
  readonly #host: Host;
  readonly #path: string;
  readonly #session = randomUUID();
  readonly #openTurns = new Set<number>();
  readonly #workerId: string;
  readonly #shards: Pick<ExchangeRequest, "shards">;
  #turn = 0;
  /** Jobs that it may still take. */
  #left = Number.POSITIVE_INFINITY;
  /** Slots that the call of the loop offers. */
  #offered = 0;
  #accepted = 0;
  #drained: { readonly at: number; readonly resolve: () => void } | undefined;
  /** The first call was answered: the endpoint knows this agent. */
  readonly answered: Promise<void>;

  constructor(host: Host, { endpointId, knowsShards = false }: AgentLoopSettings) {
    this.#host = host;
    this.#shards = knowsShards ? { shards: 0 } : {};
    this.#path = `/agent/v1/endpoints/${endpointId}/exchange`;
    // One worker with all slots, as the other contestants have one worker that runs so many jobs at once.
    const [workerId] = host.workerIds;
    if (workerId === undefined) throw new Error("The host has no worker.");
    this.#workerId = workerId;
    this.answered = this.#exchange({ slots: [], holdMs: 0 }).then(() => void this.#run());
  }

  async #run(): Promise<void> {
    for (let jobs: readonly DispatchedJob[] = []; ;) {
      try {
        jobs = await this.#next(jobs);
      } catch {
        await delay(RETRY_MS); // the edge is being started again
      }
    }
  }

  /** Reports the jobs, of which each is done at once, and brings the next ones. */
  async #next(jobs: readonly DispatchedJob[]): Promise<readonly DispatchedJob[]> {
    this.#offered = Math.min(SLOTS, this.#left);
    const slots = this.#slots(this.#offered);
    await this.#stream(jobs);
    const reports = jobs.map(reportOf);
    const isHolding = slots.length > 0 || jobs.length === 0;
    const reply = await this.#exchange({ slots, holdMs: isHolding ? HOLD_MS : 0, reports });
    this.#left -= reply.jobs.length;
    this.#count(reply);
    return reply.jobs;
  }

  #slots(free: number): ExchangeRequest["slots"] {
    return free > 0 ? [{ workerId: this.#workerId, free }] : [];
  }

  /** Chunks go ahead of the reports, as from a handler that goes on working. */
  async #stream(jobs: readonly DispatchedJob[]): Promise<void> {
    const chunks = jobs.flatMap(chunksOf);
    if (chunks.length > 0) await this.#exchange({ slots: [], holdMs: 0, chunks, held: jobs.map(refOf) });
  }

  async #exchange(turn: Turn): Promise<ExchangeReply> {
    this.#turn += 1;
    const number = this.#turn;
    const body: ExchangeRequest = {
      session: this.#session,
      turn: number,
      openTurns: [...this.#openTurns],
      held: [],
      reports: [],
      chunks: [],
      ...this.#shards,
      ...turn,
    };
    this.#openTurns.add(number);
    try {
      return exchangeReplySchema.parse(await this.#host.post(this.#path, body));
    } finally {
      this.#openTurns.delete(number);
    }
  }

  #count({ acks }: ExchangeReply): void {
    this.#accepted += acks.filter(({ outcome }) => outcome === "accepted").length;
    if (this.#drained && this.#accepted >= this.#drained.at) this.#drained.resolve();
  }

  // Commands

  /** A newer waiting call sends the one that offers slots home; again, if it overtook that one on the way. */
  async pause(): Promise<void> {
    this.#left = 0;
    do await this.#exchange({ slots: [], holdMs: 1 });
    while (this.#offered > 0);
  }

  resume(jobs = Number.POSITIVE_INFINITY): void {
    this.#left = jobs;
    void this.#exchange({ slots: [], holdMs: 1 });
  }

  async drain(jobs: number): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = { at: this.#accepted + jobs, resolve };
    const startedAt = performance.now();
    this.resume(jobs);
    await promise;
    this.#drained = undefined;
    return (performance.now() - startedAt) / 1_000;
  }

  async claim(jobs: number): Promise<Latency> {
    const slots = this.#slots(1);
    const latenciesMs: number[] = [];
    for (let index = 0; index < jobs; index += 1) {
      const requestedAt = performance.now();
      const { jobs: claimed } = await this.#exchange({ slots, holdMs: 0 });
      latenciesMs.push(performance.now() - requestedAt);
      if (claimed.length !== 1) throw new Error("The queue is empty.");
      await this.#exchange({ slots: [], holdMs: 0, reports: claimed.map(reportOf) });
    }
    return latencyOf(latenciesMs);
  }
}

function refOf({ id, attempt, workerId }: DispatchedJob) {
  return { jobId: id, attempt, workerId };
}

function reportOf(job: DispatchedJob): ExchangeRequest["reports"][number] {
  return { kind: "completed", ...refOf(job), output: answerTo(job.input).output };
}

function chunksOf(job: DispatchedJob): ExchangeRequest["chunks"] {
  const { chunk } = answerTo(job.input);
  return chunk === undefined ? [] : [{ ...refOf(job), from: 1, outputs: [chunk] }];
}
