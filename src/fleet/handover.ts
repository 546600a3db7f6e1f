/**
 * Rows of other accounts that the Fleet object of the account `default` has from the time when there was one object for
 * all of them. Each account's own object takes its rows over when it first wakes.
 *
 * O1  The older object does nothing with these rows but hand them over: on its first wake it puts them into a table of
 *     their own.
 * O2  An object takes its rows over in one commit, and once. The older object has them until that is durable.
 */
import type { MovedRow } from "../durable/ports.ts";

/** Name of the object that had the rows of all accounts, and of its account. */
export const SHARED_FLEET_NAME = "default";

type StoredRow = Record<string, string | number | null>;

const OF_HOST = "(SELECT account_id FROM host WHERE host.host_id = one.host_id)";
const OF_ENDPOINT =
  "(SELECT config ->> 'accountId' FROM desired_workers AS known WHERE known.endpoint_id = one.endpoint_id)";
const OF_WORKER = `coalesce(${OF_HOST}, ${OF_ENDPOINT})`;
const OF_CONFIG = "one.config ->> 'accountId'";

/** Each table, and which account a row of it belongs to; those that tell it for others come last. */
const OWNERS: ReadonlyMap<string, string> = new Map([
  ["unsent", OF_ENDPOINT],
  ["gone_worker", OF_WORKER],
  ["worker", OF_WORKER],
  ["ended_worker", "one.account_id"],
  ["pod", OF_CONFIG],
  ["desired_workers", OF_CONFIG],
  ["host", "one.account_id"],
]);

export class Handover {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Puts the rows of all accounts but this one aside, once (O1). */
  setAside(accountId: string): void {
    if (!this.#isFirst("set_aside")) return;
    for (const [table, owner] of OWNERS) {
      const others = `FROM "${table}" AS one WHERE ${owner} <> ?`;
      const rows = this.#sql
        .exec<StoredRow>(`SELECT ${owner} AS owner, one.* ${others}`, accountId)
        .toArray();
      for (const { owner: of = null, ...row } of rows)
        this.#sql.exec(
          "INSERT INTO handover (account_id, name, row) VALUES (?, ?, ?)",
          of,
          table,
          JSON.stringify(row),
        );
      this.#sql.exec(`DELETE ${others}`, accountId);
    }
  }

  /** What was put aside of an account. */
  rowsOf(accountId: string): MovedRow[] {
    const query = `SELECT name AS "table", row FROM handover WHERE account_id = ?`;
    return this.#sql.exec<MovedRow>(query, accountId).toArray();
  }

  /** The account's own object has them. */
  forget(accountId: string): void {
    this.#sql.exec("DELETE FROM handover WHERE account_id = ?", accountId);
  }

  get isTaken(): boolean {
    return this.#sql.exec("SELECT name FROM step WHERE name = 'taken'").toArray().length > 0;
  }

  /** Stores what the older object had (O2). */
  take(rows: readonly MovedRow[]): void {
    if (!this.#isFirst("taken")) return;
    for (const { table, row } of rows) {
      if (!OWNERS.has(table)) continue;
      const columns = Object.entries(JSON.parse(row) as StoredRow);
      const names = columns.map(([name]) => `"${name}"`).join(", ");
      const values = columns.map(([, value]) => value);
      const places = values.map(() => "?").join(", ");
      this.#sql.exec(`INSERT OR REPLACE INTO "${table}" (${names}) VALUES (${places})`, ...values);
    }
  }

  #isFirst(step: string): boolean {
    return (
      this.#sql.exec("INSERT OR IGNORE INTO step (name) VALUES (?) RETURNING name", step).toArray().length > 0
    );
  }
}
