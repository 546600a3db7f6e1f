/** Images and files of apps on this host, for Fleet: workers go where these are. Looked up in the background. */
import { HOST_CONTENTS_MAX } from "../../../src/contract/content.ts";
import { ignoreFailure } from "../../../src/std/errors.ts";

/** Others may add and remove images at any time. */
const LOOK_AGAIN_MS = 60_000;

export class StoredContents {
  readonly #look: () => Promise<readonly string[]>;
  #latest: readonly string[] = [];
  #lookedAt: number | null = null;
  #isLooking = false;
  #isStale = false;

  constructor(look: () => Promise<readonly string[]>) {
    this.#look = look;
  }

  /** What was found last; looks again when that is old. */
  get latest(): readonly string[] {
    if (this.#lookedAt === null || performance.now() - this.#lookedAt > LOOK_AGAIN_MS) this.refresh();
    return this.#latest;
  }

  /** Something has come or gone. */
  refresh(): void {
    this.#isStale = true;
    if (!this.#isLooking) void this.#lookUntilFresh();
  }

  async #lookUntilFresh(): Promise<void> {
    this.#isLooking = true;
    while (this.#isStale) {
      this.#isStale = false;
      this.#lookedAt = performance.now();
      const found = await this.#look().catch(ignoreFailure); // the next look may succeed
      if (found) this.#latest = found.slice(0, HOST_CONTENTS_MAX);
    }
    this.#isLooking = false;
  }
}
