/**
 * Storage of one object: SQLite with the durability of Durable Objects.
 *
 * S1  What one turn writes is one batch. Batches become durable later, in their order; a crash loses those that are not,
 *     the newest first.
 * S2  Nothing leaves the object before all that was written until then is durable (the output gate).
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Machine, World } from "../world/world.ts";

type Batch = { readonly event: number; readonly name: string; readonly undo: (() => void)[] };

/** Time until a commit is durable, typically. */
const COMMIT_MS = 3;

const READS_ONLY = /^\s*(?:select|pragma|explain)\b/i;

/** The row of a job after a change. */
export type JobChange = {
  readonly seq: number;
  /** Null for a job that came in. */
  readonly before: string | null;
  readonly after: string;
  /** How many were added. */
  readonly attempts: number;
  readonly error: string | null;
  readonly rescues: number;
  /** How many rescues were added. */
  readonly rescued: number;
  readonly trace: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly expiresAt: number;
  readonly executionTimeoutMs: number;
  readonly workerId: string | null;
  readonly output: string | null;
  readonly nonce: string;
  readonly retries: number;
  readonly queuedAt: number;
  readonly input: string;
  /** Columns that have other values now, of a job that had ended: all but its expiry, input and timeline. */
  readonly overwritten: string;
};

/** What the end of a job sets for good, or until it is retried. */
const OF_END = [
  "state",
  "attempt",
  "retries",
  "rescues",
  "queued_at",
  "started_at",
  "finished_at",
  "remove_at",
  "worker_id",
  "host_id",
  "output",
  "error",
];
const OVERWRITTEN = OF_END.map((name) => `iif(old.${name} IS new.${name}, '', ' ${name}')`).join(" || ");

const CHANGES = "job_change";
const OF_ROW = `new.rescues, new.trace, new.started_at, new.finished_at, new.expires_at, new.execution_timeout_ms, new.worker_id,
  new.output, new.error, new.nonce, new.retries, new.queued_at, new.input`;
const ENDS = "job_end";
const count = (name: string) =>
  `INSERT INTO ${ENDS} VALUES (${name}, 1) ON CONFLICT DO UPDATE SET count = count + 1`;
const WATCH_CHANGES = `
  CREATE TEMP TABLE ${ENDS} (state TEXT PRIMARY KEY, count INTEGER);
  CREATE TEMP TRIGGER job_ends AFTER UPDATE OF state ON job WHEN old.state IN ('queued', 'running') BEGIN
    ${count("new.state")};
  END;
  CREATE TEMP TRIGGER job_is_retried AFTER UPDATE OF retries ON job WHEN new.retries > old.retries BEGIN
    ${count("'retried'")};
  END;
  CREATE TEMP TABLE ${CHANGES} (
    seq, before, after, attempts, rescued, rescues, trace, startedAt, finishedAt, expiresAt, executionTimeoutMs, workerId, output,
    error, nonce, retries, queuedAt, input, overwritten
  );
  CREATE TEMP TRIGGER job_comes AFTER INSERT ON job BEGIN
    INSERT INTO ${CHANGES} VALUES (new.seq, NULL, new.state, new.attempt, 0, ${OF_ROW}, '');
    ${count("'submitted'")};
  END;
  CREATE TEMP TRIGGER job_changes AFTER UPDATE ON job BEGIN
    INSERT INTO ${CHANGES} VALUES (new.seq, old.state, new.state, new.attempt - old.attempt,
      new.rescues - old.rescues, ${OF_ROW}, iif(old.finished_at IS NULL, '', trim(${OVERWRITTEN})));
  END;`;

export class ObjectStorage {
  readonly sql: SqlStorage;
  readonly #world: World;
  readonly #machine: Machine;
  readonly #onAlarm: (at: number) => void;
  readonly #statements = new Map<string, StatementSync>();
  #database = new DatabaseSync(":memory:");
  #batches: Batch[] = [];
  #batchCount = 0;
  #waiting: { readonly after: number; readonly act: () => void }[] = [];
  #confirmed = 0;
  #nextConfirmAt = 0;
  #depth = 0;
  #alarmAt: number | null = null;
  #isAlarmChanged = false;
  #isWatched = false;
  /** Something was written since someone who checks has looked. */
  #isChanged = false;

  constructor(world: World, machine: Machine, onAlarm: (at: number) => void) {
    this.#world = world;
    this.#machine = machine;
    this.#onAlarm = onAlarm;
    this.sql = new SqlStorage(this);
  }

  // What objects call

  /** Runs the work; its rows, and the alarm that it sets, are rolled back when it throws. */
  transactionSync<Result>(work: () => Result): Result {
    this.#write();
    const alarmAt = this.#alarmAt;
    const name = `t${(this.#depth += 1)}`;
    this.#database.exec(`SAVEPOINT ${name}`);
    try {
      const result = work();
      this.#database.exec(`RELEASE ${name}`);
      return result;
    } catch (error) {
      this.#database.exec(`ROLLBACK TO ${name}`);
      this.#database.exec(`RELEASE ${name}`);
      this.#alarmAt = alarmAt;
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  /** Resolves when all that was written is durable. */
  sync(): Promise<void> {
    return new Promise((resolve) => this.gate(resolve));
  }

  async getAlarm(): Promise<number | null> {
    return this.#alarmAt;
  }

  async setAlarm(at: number | Date): Promise<void> {
    this.#changeAlarm(Number(at));
    this.#onAlarm(Number(at));
  }

  async deleteAlarm(): Promise<void> {
    this.#changeAlarm(null);
  }

  async deleteAll(): Promise<void> {
    this.#changeAlarm(null);
    const tables = this.#database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all() as { name: string }[];
    for (const { name } of tables) this.#database.exec(`DROP TABLE "${name}"`);
    this.#statements.clear();
  }

  // What the runtime calls

  /** Runs `act` as soon as all that was written until now is durable. */
  gate(act: () => void): void {
    if (this.#batches.length === 0) act();
    else this.#waiting.push({ after: this.#batchCount, act });
  }

  get alarmAt(): number | null {
    return this.#alarmAt;
  }

  /** The alarm fires: it is no longer set. */
  takeAlarm(): void {
    this.#alarmAt = null;
    this.#isAlarmChanged = false;
  }

  /** The alarm was set or deleted since it has fired. */
  get isAlarmChanged(): boolean {
    return this.#isAlarmChanged;
  }

  /** An alarm whose handler failed is set again; it was never gone from what is durable. */
  restoreAlarm(at: number): void {
    this.#alarmAt = at;
  }

  /** All that was written is durable now. */
  settle(): void {
    if (this.#batches.length > 0) this.#confirm(this.#batchCount);
  }

  /** The object's memory is lost, and with it all that is not durable. */
  crash(): void {
    const [oldest] = this.#batches;
    if (oldest) {
      this.#database.exec(`ROLLBACK TO ${oldest.name}`);
      this.#database.exec("COMMIT");
    }
    for (const { undo } of this.#batches.toReversed()) for (const act of undo.toReversed()) act();
    this.#batches = [];
    this.#confirmed = this.#batchCount;
    this.#waiting = [];
    this.#statements.clear();
    this.#isWatched = this.rowsOf("sqlite_temp_schema").length > 0;
  }

  run(text: string, values: readonly unknown[]): StatementResult {
    if (!READS_ONLY.test(text)) this.#write();
    if (values.length === 0 && text.includes(";")) {
      this.#database.exec(text);
      this.#watchChanges();
      return { rows: [], columns: () => [] };
    }
    const statement = this.#prepare(text);
    const bound = values.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value));
    const rows = statement.all(...(bound as SQLInputValue[])) as Record<string, unknown>[];
    return { rows, columns: () => statement.columns().map(({ name }) => name) };
  }

  get databaseSize(): number {
    const { pages } = this.#database.prepare("SELECT page_count AS pages FROM pragma_page_count").get() as {
      pages: number;
    };
    return pages * 4_096;
  }

  /** All rows of a table, for those who check invariants. */
  rowsOf(table: string): Record<string, unknown>[] {
    return this.select(`SELECT * FROM "${table}"`);
  }

  /** What a query finds, for those who check invariants. */
  select(query: string): Record<string, unknown>[] {
    try {
      return this.#prepare(query).all() as Record<string, unknown>[];
    } catch {
      return []; // the object has not made its tables yet
    }
  }

  /** What has become of the states of jobs since the last call; changes that were lost again are not among them. */
  takeChanges(): JobChange[] {
    if (!this.#isWatched || !this.takeIsChanged()) return [];
    const changes = this.rowsOf(CHANGES) as JobChange[];
    if (changes.length > 0) this.#database.exec(`DELETE FROM ${CHANGES}`);
    return changes;
  }

  /**
   * How many jobs have come into a state from one that is not final, were "submitted" or "retried"; what was lost again
   * does not count.
   */
  jobsInto(...states: readonly string[]): number {
    const rows = this.rowsOf(ENDS) as { readonly state: string; readonly count: number }[];
    return rows.reduce((sum, { state, count }) => sum + (states.includes(state) ? count : 0), 0);
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Whether anything was written since the last call. */
  takeIsChanged(): boolean {
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }

  #watchChanges(): void {
    if (this.#isWatched || this.rowsOf("sqlite_schema").every(({ name }) => name !== "job")) return;
    this.#isWatched = true;
    this.#database.exec(WATCH_CHANGES);
  }

  #prepare(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known) return known;
    const statement = this.#database.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }

  #changeAlarm(at: number | null): void {
    const [before, wasChanged] = [this.#alarmAt, this.#isAlarmChanged];
    this.#write().undo.push(() => {
      this.#alarmAt = before;
      this.#isAlarmChanged = wasChanged;
    });
    this.#alarmAt = at;
    this.#isAlarmChanged = true;
  }

  /** The batch of this turn. */
  #write(): Batch {
    this.#isChanged = true;
    const { eventCount } = this.#world;
    const last = this.#batches.at(-1);
    if (last?.event === eventCount) return last;
    if (this.#depth > 0 && last) return last;
    const number = (this.#batchCount += 1);
    const batch: Batch = { event: eventCount, name: `b${number}`, undo: [] };
    if (this.#batches.length === 0) this.#database.exec("BEGIN");
    this.#database.exec(`SAVEPOINT ${batch.name}`);
    this.#batches.push(batch);
    this.#nextConfirmAt = Math.max(
      this.#nextConfirmAt,
      this.#world.now + 1 + this.#world.random.delay(COMMIT_MS),
    );
    this.#world.schedule(this.#machine, this.#nextConfirmAt - this.#world.now, "commit", () =>
      this.#confirm(number),
    );
    return batch;
  }

  #confirm(number: number): void {
    this.#confirmed = Math.max(this.#confirmed, number);
    this.#batches = this.#batches.filter(({ name }) => Number(name.slice(1)) > this.#confirmed);
    if (this.#batches.length === 0) this.#database.exec("COMMIT");
    const free = this.#waiting.filter(({ after }) => after <= this.#confirmed);
    this.#waiting = this.#waiting.filter(({ after }) => after > this.#confirmed);
    for (const { act } of free) act();
  }
}

type StatementResult = {
  readonly rows: Record<string, unknown>[];
  /** Their names, for the few who ask: to list them takes as long as a short query. */
  readonly columns: () => readonly string[];
};

/** `storage.sql` */
class SqlStorage {
  readonly #storage: ObjectStorage;

  constructor(storage: ObjectStorage) {
    this.#storage = storage;
  }

  get databaseSize(): number {
    return this.#storage.databaseSize;
  }

  exec(text: string, ...values: unknown[]): SqlCursor {
    return new SqlCursor(this.#storage.run(text, values));
  }
}

/** Bytes come as a buffer of their own. */
function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer;
}

class SqlCursor {
  readonly rowsRead: number;
  readonly rowsWritten = 0;
  readonly #rows: Record<string, unknown>[];
  readonly #columns: () => readonly string[];

  constructor({ rows, columns }: StatementResult) {
    this.#rows = rows.map((row) => {
      const copy: Record<string, unknown> = { ...row };
      for (const name in copy) if (copy[name] instanceof Uint8Array) copy[name] = bufferOf(copy[name]);
      return copy;
    });
    this.rowsRead = rows.length;
    this.#columns = columns;
  }

  get columnNames(): readonly string[] {
    return this.#columns();
  }

  toArray(): Record<string, unknown>[] {
    return this.#rows;
  }

  one(): Record<string, unknown> {
    const [row, other] = this.#rows;
    if (!row || other) throw new Error("Expected exactly one result from SQL query.");
    return row;
  }

  [Symbol.iterator](): Iterator<Record<string, unknown>> {
    return this.#rows[Symbol.iterator]();
  }
}
