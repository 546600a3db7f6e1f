/** What an exchange with an agent does to the queue: chunks and reports in, leases extended, jobs and stops out. */
import type { StopReason } from "../../contract/agent/agent.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import { decodeJobId } from "../../domain/jobs/job-id.ts";
import { ANSWER_INPUTS_MAX_BYTES, slotsInTurn, type Dispatch } from "./dispatch.ts";
import { isLost, type JobEvent, type Payload } from "../../domain/jobs/job-machine.ts";
import type { Appended, ChunkStore } from "../streams/chunk-store.ts";
import { publicId, type QueueEntry, type WorkerRequest } from "../queue/job-store.ts";
import type {
  Ack,
  ChunkAck,
  Chunks,
  Claim,
  ExchangeAnswer,
  ExchangeCall,
  RunningAttempt,
  AttemptReport,
  Slots,
  Stop,
  UploadRef,
} from "../messages.ts";
import type { JobStorage, OrphanedPayloads } from "../queue/job-storage.ts";
import type { Claims } from "../queue/claims.ts";
import type { Queue } from "../queue/queue.ts";
import type { RunningTimes } from "../queue/running-times.ts";
import type { WorkerConcurrency } from "../scaling/worker-set.ts";

/** Progress values of running jobs that are kept in memory; the oldest go first. */
const PROGRESS_CACHE_MAX_BYTES = 16_000_000;

export type AgentHandlersParts = {
  readonly queue: Queue;
  readonly claims: Pick<Claims, "running" | "workers">;
  readonly chunks: ChunkStore;
  readonly orphans: OrphanedPayloads;
  readonly dispatch: Dispatch;
  readonly times: RunningTimes;
  readonly concurrency: WorkerConcurrency;
  readonly storage: JobStorage;
};

export class AgentHandlers {
  readonly #parts: AgentHandlersParts;
  /** Last progress values; lost with memory, the next exchange brings them again. */
  readonly #progress = new BoundedMap<string>(PROGRESS_CACHE_MAX_BYTES, (json) => json.length + 100);
  /** Agents to which a stop is yet to be sent. */
  readonly #pendingStops = new Set<string>();
  #streamed: number[] = [];

  constructor(parts: AgentHandlersParts) {
    this.#parts = parts;
  }

  /**
   * Carries out an exchange inside a turn; `openTo` determines which of the slots may get jobs. The lists of a call that
   * was overtaken on its way are out of date.
   */
  exchange(
    call: ExchangeCall,
    now: number,
    { isOvertaken, openTo }: { readonly isOvertaken: boolean; readonly openTo: (slots: Slots) => Slots },
  ): ExchangeAnswer {
    const { dispatch } = this.#parts;
    this.#pendingStops.delete(call.hostId);
    for (const listed of call.running) this.#recordTimes(listed, call.hostId, now); // before a report ends the attempt
    const taken = call.chunks.map((chunks) => this.#appendChunks(chunks, call.hostId, now));
    const acks = call.reports.map((report) => this.#accept(report, call.hostId, now));
    dispatch.callsOf(call.hostId).forgetStops(call);
    const stops = call.running.flatMap((listed) => this.#extendLease(listed, call, now));
    if (!isOvertaken && !call.isRepeated) this.#returnUndelivered(call, now);
    const rejected = taken.flatMap(({ stop }) =>
      stop && !stops.some((other) => isSame(other, stop)) ? stop : [],
    );
    return {
      acks,
      chunkAcks: taken.map(({ ack }) => ack),
      stops: [...stops, ...rejected],
      jobs: this.#claim({ ...call, slots: openTo(call.slots) }, now),
    };
  }

  /** The slots that the call offers, less those that jobs on their way to the agent will take. */
  openSlots(call: ExchangeCall): Slots {
    const underway = new Map<string, number>();
    for (const { seq, hostId, workerId } of this.#parts.claims.running.values()) {
      if (hostId !== call.hostId || !this.#parts.dispatch.isBeingDelivered(seq, call)) continue;
      underway.set(workerId, (underway.get(workerId) ?? 0) + 1);
    }
    const open = call.slots
      .map(({ workerId, free }) => ({ workerId, free: free - (underway.get(workerId) ?? 0) }))
      .filter(({ free }) => free > 0);
    for (const { workerId, free } of open) {
      this.#parts.concurrency.record(workerId, free + (this.#parts.claims.workers.counts.get(workerId) ?? 0));
    }
    return open;
  }

  /** Jobs of workers that Fleet no longer lists are lost with them. */
  rescueFromLostWorkers(alive: ReadonlySet<string>, now: number): void {
    for (const lease of [...this.#parts.claims.running.values()]) {
      if (alive.has(lease.workerId)) continue;
      const stored = this.#parts.queue.get(lease.seq);
      const reason = `worker ${lease.workerId} is gone, or its host is unreachable.`;
      if (stored) this.#parts.queue.apply(stored, { kind: "rescue", attempt: lease.attempt, reason }, now);
    }
  }

  /** A second upload may end after the report of the first was accepted: then it has stored the same again. */
  acceptsUpload({ jobId, attempt, hostId, key }: UploadRef, now: number): boolean {
    const stored = this.#parts.queue.find(jobId, now);
    return stored !== undefined && (ownsJob(stored, attempt, hostId) || hasOutput(stored, key));
  }

  claimOf(stored: QueueEntry, request: WorkerRequest): Claim {
    return {
      jobId: publicId(stored),
      attempt: stored.job.attempt,
      workerId: stored.job.workerId ?? "",
      input: request.input,
      optionsJson: request.optionsJson,
      executionTimeoutMs: stored.job.executionTimeoutMs,
    };
  }

  // Memory

  progressOf(seq: number): Payload | null {
    const json = this.#progress.get(String(seq));
    return json === undefined ? null : { kind: "inline", json };
  }

  /** Jobs that yielded chunks in this turn. */
  takeStreamed(): number[] {
    const streamed = this.#streamed;
    this.#streamed = [];
    return streamed;
  }

  /** Forgets an attempt that ended in this turn; one that has begun since is on its way, and that is kept. */
  forget(seq: number): void {
    this.#progress.delete(String(seq));
    if (!this.#parts.claims.running.has(seq)) this.#parts.dispatch.forget(seq);
  }

  markStopPending(hostId: string): void {
    this.#pendingStops.add(hostId);
  }

  hasPendingStop(hostId: string): boolean {
    return this.#pendingStops.has(hostId);
  }

  // Steps of an exchange

  /** Chunks of an attempt that lost its job are acknowledged, so that they do not come again; its handler is stopped. */
  #appendChunks(chunks: Chunks, hostId: string, now: number): { ack: ChunkAck; stop?: Stop } {
    const { jobId, attempt, from, outputs } = chunks;
    const { queue } = this.#parts;
    const stored = queue.find(jobId, now);
    if (stored && ownsJob(stored, attempt, hostId)) {
      const appended = this.#append(stored.seq, chunks);
      if (appended.kind === "stored") {
        if (appended.isNews) this.#streamed.push(stored.seq);
        return { ack: { jobId, attempt, received: appended.received } };
      }
      queue.apply(stored, { kind: "fail", attempt, error: appended.error, output: null }, now);
    }
    const ack = { jobId, attempt, received: from + outputs.length - 1 };
    return { ack, stop: { jobId, attempt, reason: stopReasonOf(stored, attempt) ?? "lease_lost" } };
  }

  #append(seq: number, chunks: Chunks): Appended {
    if (chunks.error !== undefined) return { kind: "refused", error: chunks.error };
    if (this.#parts.storage.isFullForChunks) return { kind: "refused", error: NO_STORAGE_FOR_CHUNKS };
    return this.#parts.chunks.append(seq, chunks);
  }

  #recordTimes(listed: RunningAttempt, hostId: string, now: number): void {
    if (listed.handlerStartedAt === undefined && listed.handlerFinishedAt === undefined) return;
    const lease = this.#parts.claims.running.get(decodeJobId(listed.jobId)?.seq ?? 0);
    if (lease?.attempt === listed.attempt && lease.hostId === hostId)
      this.#parts.times.record(lease, listed, now);
  }

  #accept(report: AttemptReport, hostId: string, now: number): Ack {
    const { jobId, attempt } = report;
    const { queue, orphans } = this.#parts;
    const stored = queue.find(jobId, now);
    const isOwn = stored?.job.hostId === hostId;
    if (isOwn && queue.apply(stored, eventOf(report), now).kind === "moved") {
      return { jobId, attempt, outcome: "accepted" };
    }
    // The result of an attempt that no longer owned its job is dropped, unless it is the job's own, reported twice.
    const output = "output" in report ? report.output : null;
    if (
      output?.kind === "stored" &&
      !(stored && (hasOutput(stored, output.key) || isRunning(stored, attempt)))
    ) {
      orphans.add(output.key);
    }
    return { jobId, attempt, outcome: "refused" };
  }

  #extendLease(listed: RunningAttempt, call: ExchangeCall, now: number): Stop[] {
    const { jobId, attempt } = listed;
    const { queue, claims, dispatch } = this.#parts;
    const id = decodeJobId(jobId);
    const lease = id && claims.running.get(id.seq);
    if (id && lease?.attempt === attempt && lease.hostId === call.hostId && now < lease.expiresAt) {
      queue.extendLease(id.seq, now);
      dispatch.arrived(id.seq, call);
      if (listed.progressJson !== null) this.#progress.set(String(id.seq), listed.progressJson);
      return [];
    }
    const reason = stopReasonOf(queue.find(jobId, now), attempt);
    if (!reason || !dispatch.callsOf(call.hostId).isNewStop(call, `${jobId}#${attempt}`)) return [];
    return [{ jobId, attempt, reason }];
  }

  #returnUndelivered(call: ExchangeCall, now: number): void {
    const known = new Set([...call.running, ...call.reports].map(({ jobId }) => decodeJobId(jobId)?.seq));
    for (const lease of [...this.#parts.claims.running.values()]) {
      if (lease.hostId !== call.hostId || known.has(lease.seq)) continue;
      if (!this.#parts.dispatch.isUndelivered(lease, call)) continue;
      const stored = this.#parts.queue.get(lease.seq);
      if (stored) this.#parts.queue.apply(stored, { kind: "undeliver", attempt: lease.attempt }, now);
    }
  }

  #claim(call: ExchangeCall, now: number): Claim[] {
    const { storage, queue, dispatch } = this.#parts;
    const { claimable } = storage;
    if (claimable === 0) return [];
    const slots = slotsInTurn(this.openSlots(call)).take(claimable);
    const takers = [...slots].map((workerId) => ({ workerId, hostId: call.hostId }));
    return queue.claim(takers, now, ANSWER_INPUTS_MAX_BYTES).map((claimed) => {
      dispatch.delivering(claimed.seq, call);
      return this.claimOf(claimed, claimed.request);
    });
  }
}

const NO_STORAGE_FOR_CHUNKS =
  "The storage of this endpoint is full. Stream less at a time, or run the job again when older results have been " +
  "removed.";

function ownsJob(stored: QueueEntry, attempt: number, hostId: string): boolean {
  return isRunning(stored, attempt) && stored.job.hostId === hostId;
}

/** Only the host of such an attempt may report or drop its result. */
function isRunning({ job }: QueueEntry, attempt: number): boolean {
  return job.state === "running" && job.attempt === attempt;
}

function hasOutput({ job }: QueueEntry, key: string): boolean {
  return job.output?.kind === "stored" && job.output.key === key;
}

function isSame(one: Stop, other: Stop): boolean {
  return one.jobId === other.jobId && one.attempt === other.attempt;
}

function eventOf(report: AttemptReport): JobEvent {
  const { attempt } = report;
  switch (report.kind) {
    case "completed":
      return { kind: "complete", attempt, output: report.output };
    case "failed":
      return { kind: "fail", attempt, error: report.error, output: report.output };
    case "timed_out":
      return { kind: "timeOut", attempt };
    case "lost":
      return { kind: "rescue", attempt, reason: report.reason };
  }
}

/** Undefined when the attempt has ended by its own report, whose acknowledgement is on its way. */
function stopReasonOf(stored: QueueEntry | undefined, attempt: number): StopReason | undefined {
  if (!stored) return "expired";
  if (stored.job.attempt !== attempt) return "lease_lost";
  switch (stored.job.state) {
    case "cancelled":
    case "timed_out":
      return stored.job.state;
    case "completed":
      return undefined;
    case "failed":
      return isLost(stored.job) ? "lease_lost" : undefined;
    case "queued":
    case "running":
      return "lease_lost";
  }
}
