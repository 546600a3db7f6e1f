/** `node:sqlite` of a simulated host: files by their path, which outlive the programs that have them open. */
import { DatabaseSync as RealDatabase, type StatementSync } from "real:sqlite";

const files = new Map<string, RealDatabase>();

/** No file exists any more: a new world begins. */
export function removeAllDatabases(): void {
  for (const file of files.values()) file.close();
  files.clear();
}

const PAGES_MAX = 1_073_741_823;

/** Files of the folder cannot grow any more, or can again. */
export function setDiskFull(folder: string, isFull: boolean): void {
  for (const [path, file] of files) {
    if (!path.startsWith(folder)) continue;
    const { pages } = file.prepare("SELECT page_count AS pages FROM pragma_page_count").get() as {
      pages: number;
    };
    file.exec(`PRAGMA max_page_count = ${isFull ? pages : PAGES_MAX}`);
  }
}

/** Rows of a table in the files of the folder, for those who check invariants. */
export function rowsIn(folder: string, table: string): Record<string, unknown>[] {
  return [...files].flatMap(([path, file]) => {
    if (!path.startsWith(folder)) return [];
    return (statementOf(file, table)?.all() ?? []) as Record<string, unknown>[];
  });
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

export class DatabaseSync {
  constructor(path: string) {
    const known = files.get(path);
    const file = known ?? new RealDatabase(":memory:");
    files.set(path, file);
    if (file.isTransaction) file.exec("ROLLBACK"); // of a program that has died
    return new Proxy(file, {
      get(_, property) {
        if (property === "close") return () => {};
        const value: unknown = Reflect.get(file, property, file);
        return typeof value === "function" ? value.bind(file) : value;
      },
    }) as unknown as DatabaseSync;
  }
}
