/** Batches of a client: made, started, sometimes cancelled, and read at the end. */
import type { SimulatedClient } from "./client.ts";

type KnownBatch = { readonly path: string; readonly inputs: readonly unknown[]; isCancelled: boolean };
type RequestView = { readonly status: string; readonly output?: { readonly of: unknown } };

const FINAL = new Set(["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"]);
const CALLS_MAX = 8;

export class Batches {
  readonly #client: SimulatedClient;
  readonly #hasPurged: () => boolean;
  readonly #violate: (what: string) => void;
  readonly #known: KnownBatch[] = [];

  constructor(client: SimulatedClient, hasPurged: () => boolean, violate: (what: string) => void) {
    this.#client = client;
    this.#hasPurged = hasPurged;
    this.#violate = violate;
  }

  async submit(endpointId: string, inputs: readonly unknown[]): Promise<void> {
    const requests = inputs.map((input) => ({ input }));
    const made = await this.#client.call("POST", `/v2/${endpointId}/batch`, requests);
    const id = made?.body["id"];
    if (made?.status !== 200 || typeof id !== "string") return;
    const path = `/v2/${endpointId}/batch/${id}`;
    // A draft that is started twice is started.
    for (let tries = 0; tries < CALLS_MAX; tries += 1) {
      const answer = await this.#client.call("POST", `${path}/finalize`);
      if (answer?.status !== 200) continue;
      this.#known.push({ path, inputs, isCancelled: false });
      return;
    }
  }

  async cancelOne(choose: (batches: readonly KnownBatch[]) => KnownBatch): Promise<void> {
    if (this.#known.length === 0) return;
    const batch = choose(this.#known);
    batch.isCancelled = true;
    await this.#client.call("POST", `${batch.path}/cancel`);
  }

  /** Everything has ended: each request is there, in its order, with the output of its input. */
  async check(): Promise<void> {
    if (this.#hasPurged()) return; // nobody waits for the end of jobs of which some are gone
    for (const batch of this.#known) {
      const answer = await this.#client.call("GET", `${batch.path}/requests?offset=0&limit=100`);
      const views = (answer?.body["requests"] ?? []) as readonly RequestView[];
      if (answer?.status !== 200) this.#violate(`${batch.path} cannot be read: ${answer?.status}`);
      else if (views.length !== batch.inputs.length)
        this.#violate(`${batch.path} has ${views.length} requests of ${batch.inputs.length}`);
      for (const [index, view] of views.entries()) this.#checkRequest(batch, index, view);
    }
  }

  #checkRequest(
    { path, inputs, isCancelled }: KnownBatch,
    index: number,
    { status, output }: RequestView,
  ): void {
    if (!FINAL.has(status)) this.#violate(`request ${index} of ${path} has not ended: ${status}`);
    if (status === "CANCELLED" && !isCancelled && !this.#hasPurged())
      this.#violate(`request ${index} of ${path} was cancelled by nobody`);
    if (status === "COMPLETED" && JSON.stringify(output?.of) !== JSON.stringify(inputs[index]))
      this.#violate(`request ${index} of ${path} has the output of another one`);
  }
}
