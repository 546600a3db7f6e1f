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

type Kind = "page" | "hour";

export class ActivityStore {
  readonly #database: ObjectDatabase;

  constructor(database: ObjectDatabase) {
    this.#database = database;
  }

  /** Writes the minutes of a page, which replaces an old one. */
  savePage(page: number, minutes: readonly ActivityRecord[]): void {
    this.#save("page", page % ACTIVITY_PAGES_RETAINED, page * ACTIVITY_PAGE_MS, minutes);
  }

  /** Writes an hour, which replaces an old one. */
  saveHour(hour: ActivityRecord): void {
    this.#save("hour", Math.floor(hour.from / HOUR_MS) % ACTIVITY_HOURS_RETAINED, hour.from, hour);
  }

  /** The minutes of all retained pages that begin at `since` or later. */
  minutesSince(since: number): ActivityRecord[] {
    return this.#since<ActivityRecord[]>("page", since).flat();
  }

  hoursSince(since: number): ActivityRecord[] {
    return this.#since<ActivityRecord>("hour", since);
  }

  #save(kind: Kind, slot: number, at: number, content: unknown): void {
    this.#database.run`
      INSERT INTO activity (kind, slot, at, json) VALUES (${kind}, ${slot}, ${at}, ${JSON.stringify(content)})
      ON CONFLICT (kind, slot) DO UPDATE SET at = excluded.at, json = excluded.json`;
  }

  #since<Content>(kind: Kind, since: number): Content[] {
    const rows = this.#database.all<{ json: string }>`
      SELECT json FROM activity WHERE kind = ${kind} AND at >= ${since}`;
    return rows.map(({ json }) => JSON.parse(json) as Content);
  }
}
