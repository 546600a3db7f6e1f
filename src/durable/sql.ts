/** A thin typed layer over an object's SQLite: statements as tagged templates, counted rows, numbered migrations. */

type Value = string | number | boolean | null;

/**
 * SQL text inside a statement, such as a list of columns, where other placeholders are bound values. The text at one
 * place is always the same.
 */
export class SqlFragment {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The text of each statement, by the place in the code where it is written. */
const TEXTS = new WeakMap<TemplateStringsArray, string>();

export class ObjectDatabase {
  readonly #sql: SqlStorage;
  #read = 0;
  #written = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The rows of a statement; booleans are bound as 0 and 1. */
  all<Row>(parts: TemplateStringsArray, ...values: readonly (Value | SqlFragment)[]): Row[] {
    const bound = values.flatMap((value) => (value instanceof SqlFragment ? [] : toStored(value)));
    const cursor = this.#sql.exec(textOf(parts, values), ...bound);
    const rows = cursor.toArray() as Row[];
    this.#read += cursor.rowsRead;
    this.#written += cursor.rowsWritten;
    return rows;
  }

  first<Row>(parts: TemplateStringsArray, ...values: readonly (Value | SqlFragment)[]): Row | undefined {
    return this.all<Row>(parts, ...values)[0];
  }

  run(parts: TemplateStringsArray, ...values: readonly (Value | SqlFragment)[]): void {
    this.all(parts, ...values);
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

function textOf(parts: TemplateStringsArray, values: readonly (Value | SqlFragment)[]): string {
  const known = TEXTS.get(parts);
  if (known !== undefined) return known;
  const placeholders = values.map((value) => (value instanceof SqlFragment ? value.text : "?"));
  const text = parts.reduce((sql, part, index) => `${sql}${placeholders[index - 1] ?? ""}${part}`);
  TEXTS.set(parts, text);
  return text;
}

function toStored(value: Value): string | number | null {
  return typeof value === "boolean" ? Number(value) : value;
}
