/** All SQL about what an endpoint did: pages of minutes, and hours. */
import type { ActivityRecord } from "../../domain/metrics/activity.ts";
import type { ObjectDatabase } from "../../durable/sql.ts";

/** Minutes of activity that share one row. */
export const ACTIVITY_PAGE_MS = 10 * 60_000;

/** Pages that are retained: those of the last hour, the one being written, and one spare. */
export const ACTIVITY_PAGES_RETAINED = 8;

/** Hours that are retained: a week, plus the time that usage may stay uncollected. */
const ACTIVITY_HOURS_RETAINED = 240;

const HOUR_MS = 3_600_000;

export class ActivityStore {
  readonly #statements: ReturnType<typeof activityStatements>;

  constructor(database: ObjectDatabase) {
    this.#statements = activityStatements(database);
  }

  /** Writes the minutes of a page, which replaces an old one. */
  savePage(page: number, minutes: readonly ActivityRecord[]): void {
    const slot = page % ACTIVITY_PAGES_RETAINED;
    this.#statements.save.run({
      kind: "page",
      slot,
      at: page * ACTIVITY_PAGE_MS,
      json: JSON.stringify(minutes),
    });
  }

  /** Writes an hour, which replaces an old one. */
  saveHour(hour: ActivityRecord): void {
    const slot = Math.floor(hour.from / HOUR_MS) % ACTIVITY_HOURS_RETAINED;
    this.#statements.save.run({ kind: "hour", slot, at: hour.from, json: JSON.stringify(hour) });
  }

  /** The minutes of all retained pages that begin at `since` or later. */
  minutesSince(since: number): ActivityRecord[] {
    return this.#statements.since
      .all({ kind: "page", since })
      .flatMap(({ json }) => JSON.parse(json) as ActivityRecord[]);
  }

  hoursSince(since: number): ActivityRecord[] {
    return this.#statements.since
      .all({ kind: "hour", since })
      .map(({ json }) => JSON.parse(json) as ActivityRecord);
  }
}

type Kind = "page" | "hour";

function activityStatements(database: ObjectDatabase) {
  return {
    save: database.statement<{ kind: Kind; slot: number; at: number; json: string }>(
      `INSERT INTO activity (kind, slot, at, json) VALUES (:kind, :slot, :at, :json)
       ON CONFLICT (kind, slot) DO UPDATE SET at = excluded.at, json = excluded.json`,
    ),
    since: database.statement<{ kind: Kind; since: number }, { json: string }>(
      "SELECT json FROM activity WHERE kind = :kind AND at >= :since",
    ),
  };
}
