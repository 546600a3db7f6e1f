/** Answers of the first object of an endpoint that take those of the others into account. */
import type { RequestRow } from "../../contract/job.ts";
import type { MetricsWindow } from "../../contract/metrics-window.ts";
import { Activity, type ActivityRecord } from "../../domain/metrics/activity.ts";
import { windowFrom } from "../metrics/activity-report.ts";
import type { JobHour } from "../messages.ts";
import type { ListedJobs, ListQuery } from "../queue/job-lists.ts";
import type { LeadShard } from "./lead-shard.ts";
import type { ShardAnswer, ShardQuery } from "./messages.ts";
import type { ShardCalls } from "./shard-calls.ts";

/** Jobs that one object lists at a time. */
const LIST_BATCH = 500;

export class ShardSums {
  readonly #lead: Pick<LeadShard, "known" | "isLeading">;
  readonly #calls: Pick<ShardCalls, "ask">;

  constructor(lead: Pick<LeadShard, "known" | "isLeading">, calls: Pick<ShardCalls, "ask">) {
    this.#lead = lead;
    this.#calls = calls;
  }

  /** There are others to ask. */
  get isNeeded(): boolean {
    return this.#lead.isLeading;
  }

  /** Purges the queues of the others; returns how many jobs that were. */
  async purge(): Promise<number> {
    const answers = await this.#ask({ kind: "purge" });
    return answers.reduce((sum, answer) => sum + (answer.kind === "purge" ? answer.removed : 0), 0);
  }

  async totals(): Promise<Activity[]> {
    const answers = await this.#ask({ kind: "total" });
    return answers.flatMap((answer) => (answer.kind === "total" ? Activity.from(answer.total) : []));
  }

  async activity(window: MetricsWindow, now: number): Promise<Activity[]> {
    const answers = await this.#ask({ kind: "activity", window, since: windowFrom(window, now) });
    const records = answers.flatMap((answer): readonly ActivityRecord[] =>
      answer.kind === "activity" ? answer.records : [],
    );
    return records.map((record) => Activity.from(record));
  }

  async usage(since: number): Promise<readonly JobHour[]> {
    const answers = await this.#ask({ kind: "usage", since });
    return answers.flatMap((answer) => (answer.kind === "usage" ? answer.hours : []));
  }

  /** Jobs of all objects, the newest first; `own` lists those of this one. */
  async listJobs(
    own: (query: ListQuery) => ListedJobs,
    { state, offset, limit }: ListQuery,
  ): Promise<ListedJobs> {
    const listed: RequestRow[] = [];
    let total = 0;
    // All that the page may need of each object, in batches: nobody knows how the jobs are spread.
    for (let from = 0; from < offset + limit; from += LIST_BATCH) {
      const query = { state, offset: from, limit: Math.min(LIST_BATCH, offset + limit - from) };
      const answers = await this.#ask({ kind: "jobs", ...query });
      const pages = [own(query), ...answers.filter((answer) => answer.kind === "jobs")];
      listed.push(...pages.flatMap(({ requests }) => requests));
      total = pages.reduce((sum, page) => sum + page.total, 0);
      if (pages.every(({ requests }) => requests.length < query.limit)) break;
    }
    const newestFirst = listed.toSorted((a, b) => b.createdAt - a.createdAt);
    return { requests: newestFirst.slice(offset, offset + limit), total };
  }

  async #ask(query: ShardQuery): Promise<readonly ShardAnswer[]> {
    return this.#lead.isLeading ? await this.#calls.ask(this.#lead.known, query) : [];
  }
}
