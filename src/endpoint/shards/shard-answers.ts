/** What an object of an endpoint answers when the first one sums up over all of them. */
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { ActivityCounters } from "../metrics/activity-counters.ts";
import { reportUsage, segmentsSince } from "../metrics/activity-report.ts";
import { listJobs } from "../queue/job-lists.ts";
import type { QueueLedger } from "../queue/queue-ledger.ts";
import type { Queue } from "../queue/queue.ts";
import type { ShardAnswer, ShardQuery } from "./messages.ts";

export type ShardAnswersParts = {
  readonly queue: Queue;
  readonly ledger: Pick<QueueLedger, "countIn">;
  readonly activity: ActivityCounters;
  readonly commit: Pick<GroupCommit, "run">;
};

export class ShardAnswers {
  readonly #parts: ShardAnswersParts;

  constructor(parts: ShardAnswersParts) {
    this.#parts = parts;
  }

  /** `onPurged` notifies what waits for purged jobs. */
  async answer(query: ShardQuery, onPurged: (now: number) => void): Promise<ShardAnswer> {
    const { activity, commit } = this.#parts;
    const now = Date.now();
    switch (query.kind) {
      case "purge":
        return await commit.run(() => this.#purge(onPurged, now));
      case "jobs":
        return { kind: "jobs", ...listJobs(this.#parts, query, now) };
      case "total":
        return { kind: "total", total: activity.total.toRecord() };
      case "activity": {
        const segments = segmentsSince(activity, query.window, query.since);
        const records = segments.map((segment) => segment.activity.toRecord());
        return { kind: "activity", records: records.filter(({ from }) => from >= query.since) };
      }
      case "usage":
        return { kind: "usage", hours: reportUsage(activity, query.since, now) };
    }
  }

  #purge(onPurged: (now: number) => void, now: number): ShardAnswer {
    const removed = this.#parts.queue.purge(now);
    onPurged(now);
    return { kind: "purge", removed };
  }
}
