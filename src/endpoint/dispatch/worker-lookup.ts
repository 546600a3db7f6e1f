/**
 * Asks Fleet for workers that agents name and of which it has not told yet: an agent may hear of its new worker before
 * the endpoint does. Fleet is asked once for a worker, and never for one that is known.
 */
import type { EndpointFacts } from "../endpoint-facts.ts";

export type WorkerLookupParts = {
  readonly facts: Pick<EndpointFacts, "knows" | "recordAbsent" | "hasWorkerOn">;
  /** Fetches what Fleet has to tell, and takes it over. */
  readonly update: () => Promise<void>;
};

export class WorkerLookup {
  readonly #parts: WorkerLookupParts;

  constructor(parts: WorkerLookupParts) {
    this.#parts = parts;
  }

  /** Resolves at once when all of these workers are known. Where Fleet does not answer, its report comes a little later. */
  async learnOf(workers: readonly { readonly workerId: string }[]): Promise<void> {
    const { facts, update } = this.#parts;
    if (workers.every(({ workerId }) => facts.knows(workerId))) return;
    const unknown = workers.map(({ workerId }) => workerId).filter((workerId) => !facts.knows(workerId));
    const isUpdated = await update().then(
      () => true,
      () => false,
    );
    if (isUpdated) facts.recordAbsent(unknown.filter((workerId) => !facts.knows(workerId)));
  }

  /** Whether a host has a worker of the endpoint; throws when that cannot be said. */
  async hasWorkerOn(hostId: string): Promise<boolean> {
    const { facts, update } = this.#parts;
    if (!facts.hasWorkerOn(hostId)) await update();
    return facts.hasWorkerOn(hostId);
  }
}
