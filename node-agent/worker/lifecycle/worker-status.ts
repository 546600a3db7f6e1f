import type {
  AssignmentOutline,
  StartStep,
  WorkerReport,
  WorkerState,
} from "../../../src/contract/agent/agent.ts";
import { ageMs } from "../../core/timing.ts";

const DETAIL_MAX_LENGTH = 2_000;

/** The status of a worker that the edge gets: its state, a message for users, and how it came up. */
export class WorkerStatus {
  readonly startTimes = new StartTimes();
  readonly #onChange: (isNewState: boolean) => void;
  #state: WorkerState;
  #detail: string | undefined;
  #imageDigest: string | undefined;
  #failing: { readonly times: number; readonly firstAt: number } | null = null;

  /** `onChange` learns whether more than the detail has changed. */
  constructor(state: WorkerState, onChange: (isNewState: boolean) => void) {
    this.#state = state;
    this.#onChange = onChange;
  }

  get state(): WorkerState {
    return this.#state;
  }

  get detail(): string | undefined {
    return this.#detail;
  }

  setState(state: WorkerState, detail?: string): void {
    const isNewState = state !== this.#state;
    if (!isNewState && detail === this.#detail) return;
    this.#state = state;
    this.#detail = detail?.slice(0, DETAIL_MAX_LENGTH);
    this.#onChange(isNewState);
  }

  /** What the container runs, by its content. False when that was known. */
  setImageDigest(digest: string): boolean {
    if (digest === this.#imageDigest) return false;
    this.#imageDigest = digest;
    this.#onChange(false);
    return true;
  }

  /** So many starts have failed one after the other. */
  recordFailures(times: number): void {
    const firstAt = times > 1 ? this.#failing?.firstAt : undefined;
    this.#failing = { times, firstAt: firstAt ?? performance.now() };
    this.#onChange(true); // the text that follows may be outdated by the next start
  }

  /** Earlier failures do not count any more. */
  resetFailures(): void {
    this.#failing = null;
  }

  reportFor({ workerId, endpointId, revision }: AssignmentOutline): WorkerReport {
    return {
      workerId,
      endpointId,
      revision,
      ...this.#reportedState(),
      ago: this.startTimes.ago(),
      ...(this.#detail !== undefined && { detail: this.#detail }),
      ...this.#failure(),
      ...(this.#imageDigest !== undefined && { imageDigest: this.#imageDigest }),
    };
  }

  #reportedState(): Pick<WorkerReport, "state" | "isStandby"> {
    return this.#state === "standby" ? { state: "stopping", isStandby: true } : { state: this.#state };
  }

  #failure(): Pick<WorkerReport, "failing"> {
    if (this.#failing === null || this.#state === "ready") return {};
    return { failing: { times: this.#failing.times, ago: ageMs(this.#failing.firstAt) } };
  }
}

/** Steps that may be repeated, or noticed twice: the first time counts. */
const BEGINNINGS: ReadonlySet<StartStep> = new Set<StartStep>([
  "pullStarted",
  "filesStarted",
  "modelsStarted",
  "containerStarted",
  "runtimeStarted",
]);

const OF_CONTAINER = ["containerStarting", "containerStarted", "runtimeStarted", "ready"] as const;

export class StartTimes {
  readonly #at = new Map<StartStep, number>();
  #isBeginning = false;

  /** Notes that a step happens now. */
  record(step: StartStep): void {
    if (step === "ready") this.record("runtimeStarted");
    if (step === "runtimeStarted") {
      // A worker may call before the runtime reports that it has started it.
      if (this.#isBeginning) this.record("containerStarted");
      if (!this.#at.has("containerStarted")) return; // an earlier agent has started it
    }
    if (step === "containerStarted") this.#isBeginning = false;
    if (BEGINNINGS.has(step) && this.#at.has(step)) return;
    this.#at.set(step, performance.now());
  }

  /** A container begins; what was fetched stays. */
  begin(): void {
    if (this.#at.has("containerStarted")) this.#at.delete("assigned"); // the start that was assigned is over
    for (const step of OF_CONTAINER) this.#at.delete(step);
    this.#at.set("containerStarting", performance.now());
    this.#isBeginning = true;
  }

  /** A container that was there before is resumed; what went before belongs to another start. */
  resume(): void {
    this.#at.clear();
    for (const step of ["assigned", "containerStarting", "containerStarted"] as const) this.record(step);
  }

  has(step: StartStep): boolean {
    return this.#at.has(step);
  }

  /** Whole ms since each step that happened. */
  ago(): NonNullable<WorkerReport["ago"]> {
    const now = performance.now();
    return Object.fromEntries([...this.#at].map(([step, at]) => [step, Math.round(now - at)]));
  }
}
