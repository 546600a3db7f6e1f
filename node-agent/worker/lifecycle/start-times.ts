/** When a worker came up, by a clock that nobody sets: the edge is told how long ago each step was. */
import type { WorkerReport } from "../../../src/contract/agent/agent.ts";

type Step = keyof NonNullable<WorkerReport["ago"]>;

/** Of what is tried again, or noticed twice, the first time counts. */
const BEGINNINGS: ReadonlySet<Step> = new Set<Step>(["pullStarted", "containerStarted"]);

export class StartTimes {
  readonly #at = new Map<Step, number>();
  #isBeginning = false;

  /** Notes that a step happens now. */
  record(step: Step): void {
    // A worker may be ready before the runtime says that it has started it.
    if (step === "ready" && this.#isBeginning) this.record("containerStarted");
    if (step === "containerStarted") this.#isBeginning = false;
    if (BEGINNINGS.has(step) && this.#at.has(step)) return;
    this.#at.set(step, performance.now());
  }

  /** Another container begins; what was pulled stays. */
  restart(): void {
    this.#at.delete("containerStarted");
    this.#at.delete("ready");
    this.#isBeginning = true;
  }

  /** What went before belongs to another start. */
  forget(): void {
    this.#at.clear();
  }

  has(step: Step): boolean {
    return this.#at.has(step);
  }

  /** Whole ms since each step that happened. */
  ago(): NonNullable<WorkerReport["ago"]> {
    const now = performance.now();
    return Object.fromEntries([...this.#at].map(([step, at]) => [step, Math.round(now - at)]));
  }
}
