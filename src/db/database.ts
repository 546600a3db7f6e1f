import { sql, type Column, type SQL } from "drizzle-orm";
import { drizzle, type DrizzleD1Database } from "drizzle-orm/d1";

export type Database = DrizzleD1Database;

/** Gives typed access to D1; costs nothing, so open one wherever it is needed. */
export function openDatabase(d1: D1Database): Database {
  return drizzle(d1);
}

/** Whether a column holds one of the values. They travel as one parameter, for D1 takes a hundred at most. */
export function isOneOf(column: Column, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
}
