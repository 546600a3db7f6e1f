/** A thin typed layer over an object's SQLite: named statements, counted rows, numbered migrations. */

type Value = string | number | null;
type Params = Readonly<Record<string, Value>>;

/** One statement of a store. `:names` in its text are bound from the members of the parameters. */
export class Statement<P extends Params, Row = never> {
  readonly #database: ObjectDatabase;
  readonly #sql: string;
  readonly #names: readonly string[];

  constructor(database: ObjectDatabase, sql: string) {
    this.#database = database;
    this.#names = [...sql.matchAll(/:([A-Za-z]+)/g)].map((match) => match[1] ?? "");
    this.#sql = sql.replaceAll(/:[A-Za-z]+/g, "?");
  }

  all(params: P): Row[] {
    const values = this.#names.map((name) => params[name] ?? null);
    return this.#database.execute<Row>(this.#sql, values);
  }

  first(params: P): Row | undefined {
    return this.all(params)[0];
  }

  run(params: P): void {
    this.all(params);
  }
}

export class ObjectDatabase {
  readonly #sql: SqlStorage;
  #read = 0;
  #written = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  statement<P extends Params, Row = never>(sql: string): Statement<P, Row> {
    return new Statement<P, Row>(this, sql);
  }

  execute<Row>(sql: string, values: readonly Value[]): Row[] {
    const cursor = this.#sql.exec(sql, ...values);
    const rows = cursor.toArray() as Row[];
    this.#read += cursor.rowsRead;
    this.#written += cursor.rowsWritten;
    return rows;
  }

  /** Rows read and written since the object woke: the unit in which storage is billed. */
  get rows(): { readonly read: number; readonly written: number } {
    return { read: this.#read, written: this.#written };
  }

  /** Applies the migrations not applied yet. One that was ever deployed is never edited. */
  migrate(migrations: readonly string[]): void {
    this.#sql.exec("CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY) STRICT");
    const applied = this.#sql
      .exec<{ last: number | null }>("SELECT max(number) AS last FROM migration")
      .one();
    for (const [index, migration] of migrations.entries()) {
      if (index < (applied.last ?? 0)) continue;
      this.#sql.exec(migration);
      this.#sql.exec("INSERT INTO migration (number) VALUES (?)", index + 1);
    }
  }
}
