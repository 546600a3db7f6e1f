/** The endpoint's wish for workers: sampled, decided in the domain, told to Fleet until it has heard. */
import type { EndpointConfig } from "../contract/endpoint.ts";
import { decideWorkers } from "../domain/scaler.ts";
import type { JobStore } from "./job-store.ts";
import type { QueueLedger } from "./queue-ledger.ts";

const TELL_AGAIN_MS = 2_000;

type WishFact = { readonly wanted: number; readonly isTold: boolean };

export class Scaling {
  readonly #store: JobStore;
  readonly #ledger: QueueLedger;
  #wish: WishFact = { wanted: 0, isTold: true };
  #idleSinceAt: number | null = null;
  #reviewAt: number | null = null;
  #isTelling = false;

  constructor(store: JobStore, ledger: QueueLedger) {
    this.#store = store;
    this.#ledger = ledger;
  }

  recover(now: number): void {
    this.#wish = this.#store.readFact<WishFact>("wish") ?? this.#wish;
    if (this.#wish.wanted > 0) this.#idleSinceAt = now;
  }

  /** Decides anew; to be called at the end of every turn. */
  decide(config: EndpointConfig, now: number): void {
    const { queued } = this.#ledger.counts;
    const running = this.#ledger.running.size;
    const isIdle = running + queued.normal + queued.low === 0;
    this.#idleSinceAt = isIdle ? (this.#idleSinceAt ?? now) : null;

    const decision = decideWorkers(
      {
        normalQueued: queued.normal,
        lowQueued: queued.low,
        running,
        wanted: this.#wish.wanted,
        idleSinceAt: this.#idleSinceAt,
        now,
      },
      config,
    );
    this.#reviewAt = decision.reviewAt;
    if (decision.wanted !== this.#wish.wanted) this.#save({ wanted: decision.wanted, isTold: false });
  }

  /** Fleet must hear the wish again, because the configuration that travels with it changed. */
  repeat(): void {
    this.#save({ ...this.#wish, isTold: false });
  }

  get isUntold(): boolean {
    return !this.#wish.isTold;
  }

  /** When to decide or to tell again though nothing happens; null for never. */
  nextAt(now: number): number | null {
    if (!this.#wish.isTold) return now + TELL_AGAIN_MS;
    return this.#reviewAt;
  }

  /** Tells Fleet, again and again while the wish changes on the way; a failure is left to the alarm. */
  async tell(send: (wanted: number) => Promise<void>): Promise<void> {
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      while (!this.#wish.isTold) {
        const told = this.#wish;
        await send(told.wanted);
        if (this.#wish === told) this.#save({ ...told, isTold: true });
      }
    } catch {
      // Fleet is unreachable at the moment; the alarm brings us back.
    } finally {
      this.#isTelling = false;
    }
  }

  #save(wish: WishFact): void {
    this.#wish = wish;
    this.#store.writeFact("wish", wish);
  }
}
