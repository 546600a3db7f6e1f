/** SQL about ranges of jobs, for batches; the columns are those of job-store.ts. */
import type { ObjectDatabase, Statement } from "../../durable/sql.ts";

export type RangeCounts = {
  /** Rows that a reader may see: not expired, their retention not over. */
  readonly visible: number;
  readonly completed: number;
  readonly waiting: number;
};

type Range = { readonly from: number; readonly end: number };

export class JobRanges {
  readonly #counts: Statement<Range & { head: number; now: number }, RangeCounts>;
  readonly #visible: Statement<Range & { now: number; limit: number; offset: number }, { seq: number }>;
  readonly #queued: Statement<Range & { limit: number }, { seq: number }>;
  readonly #any: Statement<Range, { seq: number }>;

  constructor(database: ObjectDatabase) {
    this.#counts = database.statement(
      // Behind the head, a never-claimed row that says queued does not wait: it runs or was purged.
      `SELECT count(*) FILTER (WHERE ${VISIBLE}) AS visible,
              count(*) FILTER (WHERE state = 'completed') AS completed,
              count(*) FILTER (WHERE state = 'queued' AND expires_at > :now
                                 AND (attempt > 0 OR seq >= :head)) AS waiting
         FROM job WHERE seq >= :from AND seq < :end`,
    );
    this.#visible = database.statement(
      `SELECT seq FROM job WHERE seq >= :from AND seq < :end AND ${VISIBLE}
        ORDER BY seq LIMIT :limit OFFSET :offset`,
    );
    this.#queued = database.statement(
      `SELECT seq FROM job WHERE seq >= :from AND seq < :end AND state = 'queued' ORDER BY seq LIMIT :limit`,
    );
    this.#any = database.statement("SELECT seq FROM job WHERE seq >= :from AND seq < :end LIMIT 1");
  }

  /** How the rows of a range stand; `head` is where its lane goes on. */
  count(range: Range, head: number, now: number): RangeCounts {
    const counts = this.#counts.first({ ...range, head, now });
    return counts ?? { visible: 0, completed: 0, waiting: 0 };
  }

  visibleSeqs(range: Range, now: number, limit: number, offset: number): number[] {
    return this.#visible.all({ ...range, now, limit, offset }).map(({ seq }) => seq);
  }

  /** Jobs whose rows say queued, whether they wait or not. */
  queuedSeqs(range: Range, limit: number): number[] {
    return this.#queued.all({ ...range, limit }).map(({ seq }) => seq);
  }

  hasRows(range: Range): boolean {
    return this.#any.first(range) !== undefined;
  }
}

const VISIBLE = "expires_at > :now AND (remove_at IS NULL OR remove_at > :now)";
