/** A client that lists the jobs of an endpoint, page by page, and sees whether the list can be true. */
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { StoredJob } from "./endpoint-rows.ts";
import { isLowPriority } from "./job-rows.ts";
import type { KnownJobs } from "./known-jobs.ts";
import type { HistoryPlan } from "./plan.ts";

export type JobListsParts = {
  readonly world: World;
  readonly storedJobs: (endpointId: string) => readonly StoredJob[];
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly known: KnownJobs;
  /** Something that no correct service answers. */
  readonly violate: (what: string) => void;
};

type Row = {
  readonly id: string;
  readonly status: string;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly completedAt?: number;
  readonly delayTime: number;
  readonly executionTime: number;
};
type Page = { readonly requests: readonly Row[]; readonly total: number; readonly hasMore: boolean };
/** What its first page counts, and all rows. */
type Walk = { readonly total: number; readonly rows: readonly Row[] };

/** Calls that an endpoint takes within a window are ten. */
const PAGES_MAX = 6;
const STATUSES = ["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "TIMED_OUT", "CANCELLED"];
/** Calls about a job that can be explained quickly. */
const CALLS_MAX = 15;

export class JobLists {
  readonly #parts: JobListsParts;

  constructor(parts: JobListsParts) {
    this.#parts = parts;
  }

  async read(endpointId: string): Promise<void> {
    const { random } = this.#parts.world;
    const status = random.chance(0.3) ? random.pick(STATUSES) : null;
    if (status === null) await this.#readWhole(endpointId, random.pick([3, 10, 500]), false);
    else await this.#readOf(endpointId, status);
  }

  /** When all is over: of each status as many as there are, and nothing but them. */
  async check(endpointId: string): Promise<void> {
    const { violate, world } = this.#parts;
    const { length } = this.#parts.storedJobs(endpointId);
    const whole = await this.#readWhole(endpointId, Math.ceil(length / 3) + 1, true);
    const status = world.random.pick(STATUSES);
    const some = await this.#readOf(endpointId, status);
    if (!whole || !some) return;
    const expected = whole.rows.filter((row) => row.status === status).length;
    if (some.rows.length !== expected && !this.#mayBeShortened(endpointId))
      violate(`${endpointId} lists ${some.rows.length} jobs that are ${status}, not ${expected}`);
  }

  async #readOf(endpointId: string, status: string): Promise<Walk | undefined> {
    const walk = await this.#walk(endpointId, 500, `&status=${status}`);
    const other = walk?.rows.find((row) => row.status !== status);
    if (other) this.#parts.violate(`${other.id} is listed as ${status}, and is ${other.status}`);
    return walk;
  }

  async #readWhole(endpointId: string, limit: number, isOver: boolean): Promise<Walk | undefined> {
    const { violate } = this.#parts;
    const before = this.#parts.storedJobs(endpointId);
    const walk = await this.#walk(endpointId, limit, "");
    if (!walk) return undefined;
    const { rows, total } = walk;
    const after = this.#parts.storedJobs(endpointId);
    this.#checkOrder(endpointId, rows, after.length === before.length);
    if (before.some((job) => this.#mayGo(job))) return walk; // what is behind it comes too early, and is passed over
    const shown = new Set(rows.map(({ id }) => decodeJobId(id)?.nonce));
    const kept = new Set(after.map(({ nonce }) => nonce)); // without what was lost before it was durable
    const missing = before.filter(({ nonce }) => kept.has(nonce) && !shown.has(nonce));
    if (missing.length > 0)
      violate(`${endpointId} lists ${shown.size} jobs, and not ${JSON.stringify(missing)}`);
    if (isOver && total !== shown.size) violate(`${endpointId} counts ${total} jobs and lists ${shown.size}`);
    return walk;
  }

  /** The newest of each object come first, each once; those that come in meanwhile push others to the next page. */
  #checkOrder(endpointId: string, rows: readonly Row[], isSame: boolean): void {
    const { violate } = this.#parts;
    const last = new Map<string, number>();
    const seen = new Set<string>();
    for (const { id } of rows) {
      const { seq = 0, shard = 0 } = decodeJobId(id) ?? {};
      const priority = `${shard} ${isLowPriority(seq) ? "low" : "normal"}`;
      const before = last.get(priority) ?? Infinity;
      if (seen.has(id) && isSame) violate(`${endpointId} lists ${id} twice`);
      if (!seen.has(id) && seq >= before) violate(`${endpointId} lists ${id} behind older jobs`);
      last.set(priority, Math.min(before, seq));
      seen.add(id);
    }
  }

  #checkTimes(endpointId: string, rows: readonly Row[]): void {
    const { plan, violate } = this.#parts;
    if (plan.faults.has("clockSkew")) return;
    if (rows.some(({ createdAt }, index) => createdAt > (rows[index - 1]?.createdAt ?? Infinity)))
      violate(
        `${endpointId} lists a job behind older ones: ${rows.map(({ createdAt }) => createdAt).join(", ")}`,
      );
  }

  /** Undefined when a page does not come. */
  async #walk(endpointId: string, limit: number, filter: string): Promise<Walk | undefined> {
    const { client, world, violate } = this.#parts;
    const rows: Row[] = [];
    let counted: number | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const sentAt = world.elapsedMs;
      const path = `/v2/${endpointId}/requests?limit=${limit}&offset=${rows.length}${filter}`;
      const answer = await client.call("GET", path);
      if (answer?.status !== 200) return undefined;
      const { requests, hasMore, total } = answer.body as Page;
      if (requests.length > limit || (hasMore && requests.length < limit))
        violate(`a page of ${endpointId} has ${requests.length} jobs of ${limit}, and there are ${total}`);
      for (const row of requests) this.#learn(row, sentAt);
      this.#checkTimes(endpointId, requests);
      counted ??= total;
      rows.push(...requests);
      if (!hasMore) return { rows, total: counted };
    }
    return undefined;
  }

  /** A row is read as a status is. */
  #learn(row: Row, sentAt: number): void {
    const { known, violate, world } = this.#parts;
    const { id, status, startedAt, completedAt, delayTime, executionTime } = row;
    if (Math.min(delayTime, executionTime, (completedAt ?? Infinity) - (startedAt ?? 0)) < 0)
      violate(`${id} is listed with times that cannot be: ${JSON.stringify(row)}`);
    const job = known.all().find((one) => one.jobId === id);
    if (!job) return;
    if (job.calls.length < CALLS_MAX) {
      const answer = { at: world.elapsedMs, status };
      job.calls.push({ kind: "read", sentAt, answer });
    }
  }

  /** Whether jobs that are stored may no longer be shown, or soon be gone. */
  #mayBeShortened(endpointId: string): boolean {
    return this.#parts.storedJobs(endpointId).some((job) => this.#mayGo(job));
  }

  #mayGo({ goneAt, isPurged }: StoredJob): boolean {
    const { plan, world } = this.#parts;
    return isPurged || goneAt <= world.now + 2 * (plan.faults.get("clockSkew") ?? 0);
  }
}
