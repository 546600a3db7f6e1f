/** `node:sqlite` of a simulated host: files by their path, which outlive the programs that have them open. */
import { DatabaseSync as RealDatabase, type SQLInputValue, type StatementSync } from "real:sqlite";
import { place } from "../../world/globals.ts";

type Write = { readonly sql: string; readonly values: readonly SQLInputValue[] | null };
type Commit = { readonly at: number; readonly writes: readonly Write[]; readonly isSynced: boolean };

/** A file, and all commits of which it consists, so that those that had not reached the disk can be lost. */
type File = {
  database: RealDatabase;
  readonly commits: Commit[];
  /** Of the transaction that is open. */
  writes: Write[];
  isSynced: boolean;
};

const files = new Map<string, File>();

/** No file exists any more: a new world begins. */
export function removeAllDatabases(): void {
  for (const { database } of files.values()) database.close();
  files.clear();
}

const PAGES_MAX = 1_073_741_823;

/** Files of the folder cannot grow any more, or can again. */
export function setDiskFull(folder: string, isFull: boolean): void {
  for (const { database } of filesIn(folder)) {
    const { pages } = database.prepare("SELECT page_count AS pages FROM pragma_page_count").get() as {
      pages: number;
    };
    database.exec(`PRAGMA max_page_count = ${isFull ? pages : PAGES_MAX}`);
  }
}

export type PowerLoss = {
  /** Commits until then are on the disk if they were synced; later ones a lying disk may have kept to itself. */
  readonly honestUntil: number;
  /** A number from 0 to its limit: how many of the commits that may be lost are not. */
  readonly choose: (limit: number) => number;
};

/** The commits of the files that were not synced are lost, but for some of the first of them. */
export function losePower(folder: string, { honestUntil, choose }: PowerLoss): void {
  for (const file of filesIn(folder)) {
    const { commits } = file;
    const safe = commits.findLastIndex(({ isSynced, at }) => isSynced && at <= honestUntil) + 1;
    const kept = safe + choose(commits.length - safe);
    if (kept === commits.length) continue;
    file.database.close();
    file.database = new RealDatabase(":memory:");
    commits.length = kept;
    for (const { writes } of commits) for (const write of writes) apply(file.database, write);
  }
}

function apply(database: RealDatabase, { sql, values }: Write): void {
  if (values === null) database.exec(sql);
  else database.prepare(sql).run(...values);
}

function filesIn(folder: string): File[] {
  return [...files].flatMap(([path, file]) => (path.startsWith(folder) ? [file] : []));
}

/** Rows of a table in the files of the folder, for those who check invariants. */
export function rowsIn(folder: string, table: string): Record<string, unknown>[] {
  return filesIn(folder).flatMap(
    ({ database }) => (statementOf(database, table)?.all() ?? []) as Record<string, unknown>[],
  );
}

const statements = new WeakMap<RealDatabase, Map<string, StatementSync>>();

/** Undefined when the file does not have the table yet. */
function statementOf(file: RealDatabase, table: string): StatementSync | undefined {
  const ofFile = statements.get(file) ?? new Map<string, StatementSync>();
  statements.set(file, ofFile);
  const known = ofFile.get(table);
  if (known) return known;
  if (!file.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table))
    return undefined;
  const statement = file.prepare(`SELECT * FROM "${table}"`);
  ofFile.set(table, statement);
  return statement;
}

const READS = /^\s*SELECT/i;
const SYNCED = /PRAGMA synchronous = FULL/;
const UNSYNCED = /PRAGMA synchronous = NORMAL/;
const OF_CONNECTION = /^PRAGMA (locking_mode|synchronous)[^;]*$/;

/** What a program does with a file, of which the commits are noted. */
export class DatabaseSync {
  readonly #file: File;

  constructor(path: string) {
    const known = files.get(path);
    this.#file = known ?? {
      database: new RealDatabase(":memory:"),
      commits: [],
      writes: [],
      isSynced: false,
    };
    files.set(path, this.#file);
    this.#abort(); // what a program has left that has died
  }

  get isTransaction(): boolean {
    return this.#file.database.isTransaction;
  }

  exec(sql: string): void {
    const file = this.#file;
    const wasOpen = file.database.isTransaction;
    file.database.exec(sql);
    if (SYNCED.test(sql)) file.isSynced = true;
    if (UNSYNCED.test(sql)) file.isSynced = false;
    if (sql === "ROLLBACK") file.writes = [];
    else if (wasOpen && !file.database.isTransaction) this.#committed();
    else if (!wasOpen && !file.database.isTransaction && !OF_CONNECTION.test(sql))
      this.#wrote({ sql, values: null });
  }

  prepare(sql: string): StatementSync {
    const statement = this.#file.database.prepare(sql);
    if (READS.test(sql)) return statement;
    return new Proxy(statement, {
      get: (_, property) => {
        const value: unknown = Reflect.get(statement, property, statement);
        if (property === "run")
          return (...values: SQLInputValue[]) => {
            const result = statement.run(...values);
            this.#wrote({ sql, values });
            return result;
          };
        return typeof value === "function" ? value.bind(statement) : value;
      },
    });
  }

  close(): void {}

  #wrote(write: Write): void {
    this.#file.writes.push(write);
    if (!this.#file.database.isTransaction) this.#committed();
  }

  #committed(): void {
    const { commits, writes, isSynced } = this.#file;
    commits.push({ at: place()?.world.now ?? 0, writes, isSynced });
    this.#file.writes = [];
  }

  #abort(): void {
    if (this.#file.database.isTransaction) this.#file.database.exec("ROLLBACK");
    this.#file.writes = [];
  }
}
