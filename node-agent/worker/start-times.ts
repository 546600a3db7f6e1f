/** When a worker came up, by a clock that nobody sets: the edge is told how long ago each step was. */
import type { WorkerReport } from "../../src/contract/agent.ts";
import { ageMs } from "../age.ts";

type Step = keyof NonNullable<WorkerReport["ago"]>;

export class StartTimes {
  readonly #at = new Map<Step, number>();

  /** Notes that a step happens now; of a pull that is tried again only the first beginning counts. */
  note(step: Step): void {
    if (step === "pullStarted" && this.#at.has(step)) return;
    this.#at.set(step, performance.now());
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
    return Object.fromEntries([...this.#at].map(([step, at]) => [step, ageMs(at)]));
  }
}
