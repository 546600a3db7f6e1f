/** What becomes of jobs and workers on standby while nothing happens for long. */
import type { SimulatedEdge } from "../runtime/edge.ts";
import type { World } from "../world/world.ts";
import type { WorkerRow } from "./fleet-rows.ts";
import { AT_ONCE } from "./job-calls.ts";
import type { Users } from "./users.ts";

export type AgingParts = {
  readonly world: World;
  readonly edge: SimulatedEdge;
  readonly users: readonly Users[];
  readonly check: () => void;
  readonly violate: (what: string) => void;
};

/** What has ended within the first of these times before is still there, and what had ended before is gone. */
const READS_MS = [28 * 60_000, 4 * 60_000];
const READ_MAX_MS = 60_000;
/** Rows stay for so much longer at most. */
const SWEPT_MS = 60_000;
const LATE_ROWS = "SELECT seq, min(expires_at, coalesce(remove_at, expires_at)) AS goneAt FROM job";

/** Time passes after the end of a history, in which nothing is done but to read what may still be there. */
export class Aging {
  readonly #parts: AgingParts;

  constructor(parts: AgingParts) {
    this.#parts = parts;
  }

  async run(): Promise<void> {
    const { world, check } = this.#parts;
    for (const passedMs of READS_MS) {
      await world.run(world.now + passedMs, () => false, check);
      await this.#readJobs();
    }
    this.#checkRows();
    this.#checkStandbys();
  }

  async #readJobs(): Promise<void> {
    const { world, users, check } = this.#parts;
    const workloads = users.flatMap((one) => one.workloads);
    let left = workloads.length;
    for (const { client, jobs } of workloads)
      client.run(world, async () => {
        for (const job of client.jobs) await jobs.read(job, AT_ONCE);
        left -= 1;
      });
    await world.run(world.now + READ_MAX_MS, () => left === 0, check);
  }

  #checkRows(): void {
    const { edge, world, violate } = this.#parts;
    for (const { name, storage } of edge.endpoints.objects.values()) {
      const late = storage.select(`${LATE_ROWS} WHERE goneAt < ${world.now - SWEPT_MS}`);
      for (const { seq, goneAt } of late)
        violate(
          `the row of job ${String(seq)} of ${name} is there ${world.now - Number(goneAt)} ms after its time`,
        );
    }
  }

  /** All workers that were on standby in the end have been so for longer than any may be. */
  #checkStandbys(): void {
    const { edge, violate } = this.#parts;
    for (const { storage } of edge.fleets.objects.values())
      for (const { worker_id: workerId, standby_at: at } of storage.rowsOf("worker") as WorkerRow[])
        if (at !== null) violate(`${workerId} is on standby since ${at}`);
  }
}
