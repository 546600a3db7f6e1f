import type { AssignmentOutline, WorkerReport, WorkerState } from "../../src/contract/agent.ts";
import { StartTimes } from "./start-times.ts";

const DETAIL_MAX_LENGTH = 2_000;

/** Where a worker stands, as the edge is told: its state, one sentence for people, and how it came up. */
export class Standing {
  readonly startTimes = new StartTimes();
  readonly #onChange: (isNewState: boolean) => void;
  #state: WorkerState;
  #detail: string | undefined;

  /** `onChange`: told whether more than the detail has changed. */
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

  become(state: WorkerState, detail?: string): void {
    const isNewState = state !== this.#state;
    if (!isNewState && detail === this.#detail) return;
    this.#state = state;
    this.#detail = detail?.slice(0, DETAIL_MAX_LENGTH);
    this.#onChange(isNewState);
  }

  reportFor({ workerId, endpointId, revision }: AssignmentOutline): WorkerReport {
    const report = { workerId, endpointId, revision, state: this.#state, ago: this.startTimes.ago() };
    return this.#detail === undefined ? report : { ...report, detail: this.#detail };
  }
}
