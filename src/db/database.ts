import { and, eq, getTableColumns, sql, type Column, type SQL } from "drizzle-orm";
import { drizzle, type DrizzleD1Database } from "drizzle-orm/d1";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

/** Rows that one task of one maintenance run removes at most. */
export const MAINTENANCE_ROWS_MAX = 500;

export type Database = DrizzleD1Database;

/** Gives typed access to D1; costs nothing, so open one wherever it is needed. */
export function openDatabase(d1: D1Database): Database {
  return drizzle(d1);
}

/** Whether a row is the account's and has this id. */
export function isOwn(
  table: { readonly accountId: Column; readonly id: Column },
  accountId: string,
  id: string,
): SQL | undefined {
  return and(eq(table.accountId, accountId), eq(table.id, id));
}

/** Whether a column holds one of the values. They are sent as one parameter, since D1 takes at most a hundred. */
export function isOneOf(column: Column, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
}

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
