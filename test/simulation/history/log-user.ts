/** A client of the logs of endpoints: reads them in pages, follows them, and sees whether it can be true. */
import { START_AT, type World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import { LogFollower } from "./log-follower.ts";
import type { LineView } from "./log-lines.ts";
import type { Logs } from "./logs.ts";
import type { HistoryPlan } from "./plan.ts";

export type LogUserParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly endpointIds: readonly string[];
  /** Of another account; null where there is none. */
  readonly stranger: SimulatedClient | null;
  readonly logs: Logs;
  readonly violate: (what: string) => void;
};

const READS_MAX = 3;
const CALLS_MAX = 60;
const AGAIN_MS = 500;
const FOLLOWING = 0.5;
const PAGE_MAX = 2_000;
/** Of the readings that look for lines of two weeks, which takes a list for each day. */
const SINCE_EVER = 0.1;

type Page = { readonly lines: readonly LineView[]; readonly cursor: string | null };

export class LogUser {
  readonly #parts: LogUserParts;
  readonly #followers: LogFollower[] = [];

  constructor(parts: LogUserParts) {
    this.#parts = parts;
  }

  start(): void {
    const { world, plan, client, endpointIds } = this.#parts;
    if (world.random.chance(FOLLOWING)) this.#follow(world.random.pick(endpointIds));
    client.run(world, async () => {
      for (let count = 0; count < Math.min(plan.operationCount, READS_MAX); count += 1) {
        await pause(world.random.delay(2 * plan.paceMs) + 1_000);
        await this.#read(world.random.pick(endpointIds));
      }
    });
  }

  /** At the end all that containers have printed is there, and followers have it. */
  async check(): Promise<void> {
    const { endpointIds } = this.#parts;
    for (const endpointId of endpointIds) await this.#checkWhole(endpointId);
    for (const follower of this.#followers) follower.check();
    for (const follower of this.#followers) follower.leave();
  }

  /** The lines of a job are found by it: they are those of all lines, in the same time, that are its own. */
  async #checkWhole(endpointId: string): Promise<void> {
    const { client, violate } = this.#parts;
    const since = this.#chooseSince();
    const views = await this.#readWhole(endpointId, PAGE_MAX, since);
    const job = client.jobs.find((one) => one.endpointId === endpointId);
    if (!job || !views) return;
    const ownOf = (all: readonly LineView[]): number => all.filter(({ jobId }) => jobId === job.jobId).length;
    const own = ownOf(views);
    const found = await this.#readJob(endpointId, job.jobId, since);
    // One of low priority may only run now.
    const later = found === own ? views : await this.#readWhole(endpointId, PAGE_MAX, since);
    if (found === undefined || !later) return;
    if (found < own || found > ownOf(later))
      violate(`${own} lines are of ${job.jobId}, of which ${found} are found by it`);
  }

  #follow(endpointId: string): void {
    const follower = new LogFollower({ ...this.#parts, endpointId });
    this.#followers.push(follower);
    follower.start();
  }

  async #read(endpointId: string): Promise<void> {
    const { client, stranger, world } = this.#parts;
    const { random } = world;
    const job = client.jobs.length > 0 ? random.pick(client.jobs) : undefined;
    const kind = random.pick(["whole", "whole", "worker", "job", "stranger"]);
    if (kind === "job" && job) await this.#readJob(job.endpointId, job.jobId);
    else if (kind === "stranger" && stranger) await this.#trespass(endpointId, stranger);
    else if (kind === "worker") await this.#readWorker(endpointId);
    else await this.#readWhole(endpointId, random.pick([30, PAGE_MAX]));
  }

  /** Undefined when not all of it comes. */
  async #readWhole(
    endpointId: string,
    limit: number,
    since = this.#chooseSince(),
  ): Promise<readonly LineView[] | undefined> {
    const { logs } = this.#parts;
    const before = logs.begin();
    const views = await this.#pages(endpointId, `limit=${limit}${since}`);
    if (views) logs.readWhole(endpointId, views, before);
    return views;
  }

  async #readWorker(endpointId: string): Promise<void> {
    const { logs, world } = this.#parts;
    const latest = await this.#page(endpointId, `limit=20&since=${START_AT}`);
    if (!latest || latest.lines.length === 0) return;
    const { workerId } = world.random.pick(latest.lines);
    const before = logs.begin();
    const views = await this.#pages(
      endpointId,
      `limit=100&source=container&workerId=${workerId}${this.#chooseSince()}`,
    );
    if (!views) return;
    if (views.some((view) => view.workerId !== workerId))
      this.#parts.violate(`the logs of ${workerId} show lines of others`);
    logs.readWhole(endpointId, views, before, workerId);
  }

  /** Returns how many lines there are; undefined when not all of them come. */
  async #readJob(
    endpointId: string,
    jobId: string,
    since = this.#chooseSince(),
  ): Promise<number | undefined> {
    const views = await this.#pages(endpointId, `limit=100&jobId=${jobId}${since}`);
    if (!views) return undefined;
    this.#parts.logs.read(endpointId, views);
    if (views.some((view) => view.jobId !== jobId))
      this.#parts.violate(`the logs of ${jobId} show lines of others`);
    return views.length;
  }

  /** Nobody reads or follows the logs of another account. */
  async #trespass(endpointId: string, stranger: SimulatedClient): Promise<void> {
    const { world, violate } = this.#parts;
    const headers: Record<string, string> = world.random.chance(0.5) ? { accept: "text/event-stream" } : {};
    const gone = new AbortController();
    const answer = await stranger
      .open(`/v2/${endpointId}/logs`, { headers, signal: gone.signal })
      .catch(() => null);
    if (answer?.status === 200) violate(`another account may read the logs of ${endpointId}`);
    gone.abort();
    await answer?.body?.cancel().catch(() => {});
  }

  /** A part of the query; where the clock of a host was set, it decides which lines there are. */
  #chooseSince(): string {
    return this.#parts.world.random.chance(SINCE_EVER) ? "" : `&since=${START_AT}`;
  }

  /** The newest page, and those before it until there is none; undefined when one does not come. */
  async #pages(endpointId: string, query: string): Promise<LineView[] | undefined> {
    const pages: (readonly LineView[])[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Page | undefined = await this.#page(
        endpointId,
        cursor === "" ? query : `${query}&cursor=${cursor}`,
      );
      if (!page || pages.length > CALLS_MAX) return undefined;
      pages.unshift(page.lines);
      ({ cursor } = page);
    }
    return pages.flat();
  }

  async #page(endpointId: string, query: string): Promise<Page | undefined> {
    for (let tries = 0; tries < 5; tries += 1) {
      const answer = await this.#parts.client.call("GET", `/v2/${endpointId}/logs?${query}`);
      if (answer?.status === 200) return answer.body as Page;
      await pause(AGAIN_MS);
    }
    return undefined;
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
