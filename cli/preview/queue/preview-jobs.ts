/** The jobs of one queue of a preview, in memory. They change as the domain says; an expired one is gone for every reader. */
import { EventEmitter } from "node:events";
import type { ReceivedJobRequest } from "../../../src/contract/job.ts";
import {
  isExpired,
  type Job,
  type JobEvent,
  type Payload,
  transition,
} from "../../../src/domain/jobs/job-machine.ts";

/** A request whose input is the JSON text that was sent. */
export type PreviewRequest = Omit<ReceivedJobRequest, "input"> & { readonly input: string };

export type PreviewJob = {
  readonly id: string;
  /** Of idempotency. */
  readonly key: string | undefined;
  readonly isLowPriority: boolean;
  readonly request: PreviewRequest;
  job: Job;
  progress: Payload | null;
  /** What the handler has yielded, as JSON texts, and how many of them a reader of the stream has got. */
  chunks: string[];
  drained: number;
};

export type JobEffects = {
  /** A handler's result is not wanted any more. */
  readonly onStop: (jobId: string, attempt: number, reason: "cancelled" | "timed_out" | "expired") => void;
  /** A job waits for a worker. */
  readonly onQueued: () => void;
};

export class PreviewJobs {
  readonly #effects: JobEffects;
  readonly #now: () => number;
  /** In the order of their submission. */
  readonly #kept = new Map<string, PreviewJob>();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #ended = { completed: 0, failed: 0 };

  constructor(effects: JobEffects, now: () => number) {
    this.#effects = effects;
    this.#now = now;
  }

  add(one: Pick<PreviewJob, "id" | "key" | "isLowPriority" | "request" | "job">): void {
    this.#kept.set(one.id, { ...one, progress: null, chunks: [], drained: 0 });
    this.#effects.onQueued();
  }

  find(id: string): PreviewJob | undefined {
    const found = this.#kept.get(id);
    if (!found || !isExpired(found.job, this.#now())) return found;
    this.#remove(found);
    return undefined;
  }

  all(): PreviewJob[] {
    const now = this.#now();
    for (const one of this.#kept.values()) if (isExpired(one.job, now)) this.#remove(one);
    return [...this.#kept.values()];
  }

  /** In the order in which workers get them. */
  waiting(): PreviewJob[] {
    const waiting = this.all().filter(({ job }) => job.state === "queued");
    return waiting.toSorted((one, other) => Number(one.isLowPriority) - Number(other.isLowPriority));
  }

  counts(): Readonly<Record<"completed" | "failed" | "inProgress" | "inQueue", number>> {
    const count = (state: Job["state"]): number => this.all().filter(({ job }) => job.state === state).length;
    return { ...this.#ended, inProgress: count("running"), inQueue: count("queued") };
  }

  /** False when the job may not change so. */
  move(one: PreviewJob, event: JobEvent): boolean {
    const moved = transition(one.job, event, this.#now());
    if (moved.kind === "refused") return false;
    one.job = moved.job;
    for (const effect of moved.effects) {
      if (effect.kind === "stopHandler" && effect.reason !== "lease_lost") {
        this.#effects.onStop(one.id, effect.attempt, effect.reason);
      }
      if (effect.kind === "settled") this.#count(moved.job);
      if (effect.kind === "requeued") this.#effects.onQueued();
    }
    this.changed(one.id);
    return true;
  }

  /** Wakes who waits for a change of the job. */
  changed(id: string): void {
    this.#changes.emit(id);
  }

  /** Resolves with the next change of the job, at the signal, or after that time. */
  change(id: string, signal?: AbortSignal, withinMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#changes.off(id, end);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = withinMs === undefined ? undefined : setTimeout(end, withinMs);
      this.#changes.on(id, end);
      signal?.addEventListener("abort", end);
    });
  }

  #count({ state }: Job): void {
    if (state === "completed") this.#ended.completed += 1;
    else if (state === "failed" || state === "timed_out") this.#ended.failed += 1;
  }

  #remove({ id, job }: PreviewJob): void {
    this.#kept.delete(id);
    if (job.state === "running") this.#effects.onStop(id, job.attempt, "expired");
    this.changed(id);
  }
}
