/** SQLite of Node in the shape of an object's storage; counts the rows that statements change. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

export function openSql(): SqlStorage {
  const database = new DatabaseSync(":memory:");
  const statements = new Map<string, ReturnType<typeof database.prepare>>();
  const prepare = (text: string) => {
    const known = statements.get(text) ?? database.prepare(text);
    statements.set(text, known);
    return known;
  };
  const exec = (text: string, ...values: SQLInputValue[]) => {
    if (values.length === 0 && !/^\s*(SELECT|DELETE|INSERT)/.test(text)) {
      database.exec(text);
      return { toArray: () => [], rowsRead: 0, rowsWritten: 0 };
    }
    const statement = prepare(text);
    if (/^\s*SELECT/.test(text)) {
      const rows = statement.all(...values);
      return { toArray: () => rows, one: () => rows[0], rowsRead: rows.length, rowsWritten: 0 };
    }
    const { changes } = statement.run(...values);
    return { toArray: () => [], rowsRead: 0, rowsWritten: Number(changes) };
  };
  return { exec } as unknown as SqlStorage;
}
