/** Has scaling review the requests in turns of their own. */
import type { GroupCommit } from "../../durable/group-commit.ts";

/** While requests begin and end, scaling reviews them at least this often. */
const SCALING_INTERVAL_MS = 25;

export class ScalingReview {
  readonly #commit: Pick<GroupCommit, "run">;
  #isReviewing = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(commit: Pick<GroupCommit, "run">) {
    this.#commit = commit;
  }

  /** Requests have begun, ended or come: scaling reviews them in a separate turn. */
  now(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isReviewing) return;
    this.#isReviewing = true;
    void this.#commit.run(() => {
      this.#isReviewing = false;
    });
  }

  /** The same, together with what other requests do meanwhile; at once without requests, as the object may then sleep. */
  soon(inFlight: number): void {
    if (inFlight === 0) this.now();
    else this.#timer ??= setTimeout(() => this.now(), SCALING_INTERVAL_MS);
  }
}
