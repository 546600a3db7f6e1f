import type { StopReason } from "../../../src/contract/agent/agent.ts";
import type { AttemptRecord } from "../../journal/journal.ts";
import type { Outstanding } from "./evidence.ts";

/** A job inside a worker, from the moment its reply is written until its handler is known to be over. */
export class DeliveredJob {
  readonly ref: AttemptRecord;
  /** What to send again while it is not certain that the whole reply went out. */
  body: string | null;
  deliveredAt: number | null;
  /** Its worker has it, unless it loses it. An agent may end while it delivers a job, or before. */
  readonly isCertain: boolean;
  wasSeenInPing: boolean;
  pingsWithout = 0;
  /** Its result is not wanted any more. */
  stop: {
    readonly reason: StopReason | "failed";
    isSent: boolean;
    /** It was sent a second time, as the handler might not have begun at the first. */
    isRepeated: boolean;
    isGraceOver: boolean;
  } | null = null;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(ref: AttemptRecord, body: string | null, deliveredAt: number | null, isCertain = true) {
    this.ref = ref;
    this.isCertain = isCertain;
    this.wasSeenInPing = !isCertain; // E5
    this.body = body;
    this.deliveredAt = deliveredAt;
  }

  /**
   * What the worker posts about the job is of this attempt. The handler of an attempt before it, which an earlier agent
   * was stopping, may post as well while this one is not certain to have begun.
   */
  get takesPosts(): boolean {
    return this.isCertain || this.ref.attempt === 1;
  }

  after(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, delayMs);
    this.#timers.add(timer);
  }

  clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  outstanding(): Outstanding | undefined {
    const { deliveredAt, wasSeenInPing, pingsWithout } = this;
    if (deliveredAt === null) return undefined;
    return { jobId: this.ref.jobId, deliveredAt, wasSeenInPing, pingsWithout };
  }
}
