/** A client of the logs of its pods: reads all lines of one, and sees whether it can be true. */
import { START_AT, type World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { Logs } from "./logs.ts";
import type { HistoryPlan } from "./plan.ts";
import type { PodUser } from "./pods.ts";

export type PodLogUserParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly pods: PodUser;
  /** Of another account; null where there is none. */
  readonly stranger: SimulatedClient | null;
  readonly logs: Logs;
  readonly violate: (what: string) => void;
};

const READS_MAX = 4;
const CALLS_MAX = 5;
const AGAIN_MS = 500;

export class PodLogUser {
  readonly #parts: PodLogUserParts;

  constructor(parts: PodLogUserParts) {
    this.#parts = parts;
  }

  start(): void {
    const { world, plan, client } = this.#parts;
    client.run(world, async () => {
      for (let count = 0; count < READS_MAX; count += 1) {
        await pause(world.random.delay(2 * plan.paceMs) + 1_000);
        const { ids } = this.#parts.pods;
        if (ids.length > 0) await this.#read(world.random.pick(ids));
      }
    });
  }

  /** While there still are pods: all that their containers have printed is there. */
  async check(): Promise<void> {
    for (const podId of this.#parts.pods.ids) if (await this.#read(podId)) this.#parts.logs.checkPod(podId);
  }

  /** Whether there was an answer: a pod that is terminated has no logs any more. */
  async #read(podId: string): Promise<boolean> {
    const { client, stranger, logs, violate } = this.#parts;
    const path = `/v1/pod/${podId}/logs?since=${START_AT}`;
    const refused = await stranger?.call("GET", path);
    if (refused?.status === 200) violate(`another account may read the logs of the pod ${podId}`);
    const before = logs.begin();
    for (let calls = 0; calls < CALLS_MAX; calls += 1) {
      const answer = await client.call("GET", path);
      if (answer?.status === 404) return false;
      if (answer?.status === 200) {
        logs.readPod(podId, answer.body["container"] as readonly string[], before);
        return true;
      }
      await pause(AGAIN_MS);
    }
    return false;
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
