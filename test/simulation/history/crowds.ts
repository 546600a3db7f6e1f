/** More calls of one kind at once than an endpoint takes: those that wait, up to its limit, and no others are refused. */
import type { KnownJob, SimulatedClient } from "./client.ts";

export type CrowdsParts = {
  readonly client: SimulatedClient;
  /** The endpoint may have several objects. */
  readonly hasShards: boolean;
  readonly violate: (what: string) => void;
};

/** A call that waits until the job ends. */
type Waiting = { status: number | undefined };
type Health = {
  readonly limits: { readonly operations: { readonly status: { readonly concurrent: number } } };
};

/** For which a call waits, and after which it is either refused or waits. */
const WAIT_MS = 5_000;
const DECIDED_MS = 2_500;
/** Calls above the limit. */
const MORE = 5;
const FEW = 20;

export class Crowds {
  readonly #parts: CrowdsParts;

  constructor(parts: CrowdsParts) {
    this.#parts = parts;
  }

  /** Statuses of a job that goes on for longer, which wait for its end; to be called where nobody else reads one. */
  async meet({ endpointId, jobId }: KnownJob): Promise<void> {
    const { client, violate } = this.#parts;
    const health = await client.call("GET", `/v2/${endpointId}/health`);
    if (health?.status !== 200) return;
    const { concurrent: limit } = (health.body as unknown as Health).limits.operations.status;
    const path = `/v2/${endpointId}/status/${jobId}?wait=${WAIT_MS}`;
    const first = this.#ask(path, limit + MORE);
    await pause(DECIDED_MS);
    const open = first.calls.filter(({ status }) => status === undefined).length;
    const refused = first.calls.filter(({ status }) => status === 429).length;
    if (open > limit) violate(`${open} calls of ${endpointId} wait at once, of which it takes ${limit}`);
    // Those whose job has ended by now were taken as well. Of several objects, each takes its part.
    const taken = first.calls.length - refused;
    if (refused > 0 && taken < limit && !this.#parts.hasShards)
      violate(
        `${refused} calls of ${endpointId} were refused, and ${taken} taken, of which it takes ${limit}`,
      );
    await first.end;
    const next = this.#ask(path, FEW);
    await next.end;
    const late = next.calls.filter(({ status }) => status === 429).length;
    if (late > 0) violate(`${late} calls of ${endpointId} were refused, though those before them were over`);
  }

  #ask(path: string, count: number): { readonly calls: readonly Waiting[]; readonly end: Promise<unknown> } {
    const calls = Array.from({ length: count }, (): Waiting => ({ status: undefined }));
    const end = Promise.all(
      calls.map(async (call) => {
        call.status = (await this.#parts.client.call("GET", path))?.status ?? 0;
      }),
    );
    return { calls, end };
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
