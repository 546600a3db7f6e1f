/** Clients that try the limits of the queue API, which count within a window. */
import { RUN_BODY_MAX_BYTES } from "../../../src/contract/limits.ts";
import { RATE_WINDOW_MS } from "../../../src/contract/rate-limits.ts";
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type RateCallsParts = {
  readonly world: World;
  readonly client: SimulatedClient;
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

/** Calls of each of these kinds that an endpoint takes within a window. */
const FLOOD_LIMIT = 100;
/** Calls are counted in the memory of the object. */
const LOSE_COUNTS: readonly Fault[] = ["objectCrashes", "objectEvicted", "redeployment"];
const UNKNOWN_JOB = "00000000-0000-0000-0000-000000000000-s0";
const FLOODED = [
  ["POST", `cancel/${UNKNOWN_JOB}`],
  ["POST", `retry/${UNKNOWN_JOB}`],
  ["GET", `webhooks/${UNKNOWN_JOB}`],
  ["GET", "batch"],
] as const;
const FEW = 6;
/** A call that was given up may arrive later. */
const LATE_MS = 3_000;
/** Times that are counted together, a window of which is one longer than RATE_WINDOW_MS. */
const GRAIN_MS = RATE_WINDOW_MS / 1_000;

export class RateCalls {
  readonly #parts: RateCallsParts;
  /** Two clients at once would count each other's calls. */
  static readonly #probed = new WeakSet<World>();

  constructor(parts: RateCallsParts) {
    this.#parts = parts;
  }

  /** More calls of one kind than the limit allows: within a window, no more are taken. */
  async flood(endpointId: string): Promise<void> {
    const { client, world, violate, plan } = this.#parts;
    const [method, operation] = world.random.pick(FLOODED);
    const taken: { readonly sentAt: number; readonly answeredAt: number }[] = [];
    for (let count = 0; count < 3 * FLOOD_LIMIT; count += 1) {
      const sentAt = world.elapsedMs;
      const answer = await client.call(method, `/v2/${endpointId}/${operation}`);
      if (answer && answer.status < 500 && answer.status !== 429)
        taken.push({ sentAt, answeredAt: world.elapsedMs });
      await pause(world.random.delay(RATE_WINDOW_MS / (2 * FLOOD_LIMIT)));
    }
    if (LOSE_COUNTS.some((fault) => plan.faults.has(fault))) return;
    for (const [index, first] of taken.entries()) {
      const last = taken[index + FLOOD_LIMIT];
      // All that were sent after the first one's arrival were taken within the window.
      if (last && last.answeredAt - first.sentAt < RATE_WINDOW_MS)
        return violate(`${FLOOD_LIMIT + 1} calls were taken within ${last.answeredAt - first.sentAt} ms`);
    }
  }

  /** A body above the limit makes no job. */
  async overfill(endpointId: string): Promise<void> {
    const { client, violate } = this.#parts;
    const answer = await client.call("POST", `/v2/${endpointId}/run`, {
      input: "x".repeat(RUN_BODY_MAX_BYTES),
    });
    if (answer && answer.status < 500 && answer.status !== 413 && answer.status !== 429)
      violate(`${endpointId} answers ${answer.status} to a body above the limit`);
  }

  /** A few calls of a kind that nobody else makes, and one two windows later: what has left the window does not count. */
  async probe(endpointId: string): Promise<void> {
    const { world, plan, violate } = this.#parts;
    if (RateCalls.#probed.has(world) || plan.faults.has("requestsRepeated")) return;
    RateCalls.#probed.add(world);
    const begunAt = world.elapsedMs;
    for (let count = 1; count <= FEW; count += 1) {
      const used = await this.#used(endpointId);
      if (used > count) violate(`${used} calls are counted of ${count}`);
    }
    const meantMs = (world.elapsedMs - begunAt) / 2;
    await pause(2 * (RATE_WINDOW_MS + GRAIN_MS) - meantMs);
    const used = await this.#used(endpointId);
    if (used > 1) violate(`${used} calls are counted, though one was made in the last ${RATE_WINDOW_MS} ms`);
    await pause(RATE_WINDOW_MS + 2 * GRAIN_MS + LATE_MS); // the next one finds none of these calls
    RateCalls.#probed.delete(world);
  }

  /** How many calls were counted with this one, as its answer says; 0 without an answer. */
  async #used(endpointId: string): Promise<number> {
    const answer = await this.#parts.client.call("GET", `/v2/${endpointId}/requests`);
    return answer?.used ?? 0;
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
