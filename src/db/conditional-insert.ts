import { getTableColumns, sql, type SQL } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

/** A row for `insert(table).select(…)`, which is inserted only if the condition holds at that very moment. */
export function rowIf<Table extends SQLiteTable>(
  table: Table,
  record: Table["$inferSelect"],
  condition: SQL | undefined,
): SQL {
  const values: Readonly<Record<string, unknown>> = record;
  const columns = Object.entries(getTableColumns(table));
  const row = columns.map(([field, column]) => sql.param(values[field], column));
  return sql`SELECT ${sql.join(row, sql`, `)} WHERE ${condition}`;
}
