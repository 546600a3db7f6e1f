/** A service that takes part: HTTP in, a queue, a worker in a process of its own, HTTP out. */
import type { Api, Latency } from "../load/order.ts";
import type { Roles } from "../process/cpu-time.ts";

export const CONTESTANT_NAMES = ["edgerun", "edgerun-whole", "bullmq-always", "bullmq-memory"] as const;
export type ContestantName = (typeof CONTESTANT_NAMES)[number];

export type Contestant = AsyncDisposable & {
  readonly name: ContestantName;
  readonly api: Api;
  /** Processes by what they do, as they are now. */
  roles(): Roles;
  /** Most requests of an operation that one measurement may send without meeting a limit. */
  readonly budget: Readonly<Record<"runsync" | "run" | "status" | "cancel", number>>;
  /** Absent where work cannot be held back or commanded. */
  readonly worker?: CommandedWorker;
  /** Makes the queue hold this many jobs, quickly; only while the worker is paused. */
  fillTo?(depth: number): Promise<void>;
};

/** The slots that a contestant's worker has in all measurements. */
export const SLOTS = 64;

export type CommandedWorker = {
  /** Takes no more jobs; resolves when none is in hand. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Resumes and waits for so many results; returns the seconds from resuming to the last accepted one. */
  drain(jobs: number): Promise<number>;
  /** While paused: takes jobs one at a time and completes each; how long taking took. */
  claim(jobs: number): Promise<Latency>;
};
