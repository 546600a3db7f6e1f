/** A service that takes part: HTTP in, a queue, a worker in a process of its own, HTTP out. */
import type { Api, Latency } from "../load/order.ts";
import type { Roles } from "../process/cpu-time.ts";

export const CONTESTANT_NAMES = ["edgerun", "edgerun-whole", "bullmq-always", "bullmq-memory"] as const;
export type ContestantName = (typeof CONTESTANT_NAMES)[number];

/** Operations that have limits and that a load may ask for. */
export type LoadedOperation = "runsync" | "run" | "status" | "cancel" | "batch";

export type Contestant = AsyncDisposable & {
  readonly name: ContestantName;
  readonly api: Api;
  /** Processes by what they do, as they are now. */
  roles(): Roles;
  /** Most requests of an operation that one measurement may send without meeting a limit. */
  readonly budget: Readonly<Record<LoadedOperation, number>>;
  /** Absent where work cannot be held back or commanded. */
  readonly worker?: CommandedWorker;
  /** Restarts the service and sends a request at once; absent where that measures nothing. */
  wake?(): Promise<WakeTimes>;
};

/** First answers after a start, in ms. */
export type WakeTimes = {
  /** `status` of a job in the measured queue. */
  readonly full: number;
  /** The same of a queue that holds one job, which includes all that has nothing to do with the queue. */
  readonly almostEmpty: number;
};

/** The slots that a contestant's worker has in all measurements. */
export const SLOTS = 64;

export type CommandedWorker = {
  /** Takes no more jobs; resolves when none is in hand. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Resumes, and pauses after so many results; returns the seconds from resuming to the last accepted one. */
  drain(jobs: number): Promise<number>;
  /** While paused: makes the queue hold this many jobs, quickly. */
  fillTo(depth: number): Promise<void>;
  /** While paused: takes jobs one at a time and completes each; how long taking took. */
  claim(jobs: number): Promise<Latency>;
};

/** The budget of each operation. */
export function budgetBy(admitted: (operation: LoadedOperation) => number): Contestant["budget"] {
  return {
    runsync: admitted("runsync"),
    run: admitted("run"),
    status: admitted("status"),
    cancel: admitted("cancel"),
    batch: admitted("batch"),
  };
}
