import type { Inventory } from "../../src/contract/agent/agent.ts";

const REFRESH_MS = 60_000;

/** The inventory of this host, read anew once a minute. */
export class InventoryWatch {
  #current: Inventory;
  readonly #timer: NodeJS.Timeout;

  constructor(first: Inventory, read: () => Promise<Inventory>) {
    this.#current = first;
    this.#timer = setInterval(() => {
      // A reading that failed leaves the last one in force.
      read().then(
        (inventory) => (this.#current = inventory),
        () => {},
      );
    }, REFRESH_MS);
    this.#timer.unref();
  }

  current(): Inventory {
    return this.#current;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
