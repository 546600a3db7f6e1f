/** D1: SQLite behind a network. A statement runs whole or not at all; a batch likewise. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Network } from "./network.ts";

type Row = Record<string, unknown>;
type Result = { readonly results: Row[]; readonly success: true; readonly meta: Row };

export class SimulatedD1 {
  readonly #network: Network;
  readonly database = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, StatementSync>();
  readonly #arrayStatements = new Map<string, StatementSync>();

  /** `empty`: a database without rows, as `migrated` makes it. */
  constructor(network: Network, empty: Uint8Array) {
    this.#network = network;
    this.database.deserialize(empty);
  }

  prepare(text: string): SimulatedStatement {
    return new SimulatedStatement(this, text, []);
  }

  async batch(statements: readonly SimulatedStatement[]): Promise<unknown> {
    return this.ask(() => {
      this.database.exec("BEGIN");
      try {
        const results = statements.map((statement) => statement.run_());
        this.database.exec("COMMIT");
        return results;
      } catch (error) {
        this.database.exec("ROLLBACK");
        throw error;
      }
    });
  }

  withSession(): this {
    return this;
  }

  /** How many rows have ever changed. */
  get changeCount(): number {
    return Number(this.statement("SELECT total_changes() AS changes").get()?.["changes"]);
  }

  statement(text: string): StatementSync {
    return known(this.#statements, text, () => this.database.prepare(text));
  }

  /** The same, whose rows come as arrays. */
  arrayStatement(text: string): StatementSync {
    return known(this.#arrayStatements, text, () => {
      const statement = this.database.prepare(text);
      statement.setReturnArrays(true);
      return statement;
    });
  }

  ask(act: () => unknown): Promise<unknown> {
    return this.#network.ask({
      what: "D1",
      send: (answer) => {
        try {
          this.#network.perform("d1Fails", answer, act);
        } catch (error) {
          answer.fail(new Error(`D1_ERROR: ${error instanceof Error ? error.message : String(error)}`));
        }
      },
    });
  }
}

class SimulatedStatement {
  readonly #d1: SimulatedD1;
  readonly #text: string;
  readonly #values: readonly unknown[];

  constructor(d1: SimulatedD1, text: string, values: readonly unknown[]) {
    this.#d1 = d1;
    this.#text = text;
    this.#values = values;
  }

  bind(...values: unknown[]): SimulatedStatement {
    return new SimulatedStatement(this.#d1, this.#text, values);
  }

  /** The outcome at once, inside the database. */
  run_(): Result {
    const before = this.#d1.changeCount;
    const results = (this.#d1.statement(this.#text).all(...this.#bound) as Row[]).map((row) => ({ ...row }));
    const changes = this.#d1.changeCount - before;
    return { results, success: true, meta: { changes, rows_read: results.length, rows_written: changes } };
  }

  async all(): Promise<unknown> {
    return this.#d1.ask(() => this.run_());
  }

  async run(): Promise<unknown> {
    return this.all();
  }

  async first(column?: string): Promise<unknown> {
    const { results } = (await this.all()) as Result;
    const [row] = results;
    if (!row) return null;
    return column === undefined ? row : row[column];
  }

  async raw(): Promise<unknown> {
    return this.#d1.ask(() => this.#d1.arrayStatement(this.#text).all(...this.#bound));
  }

  get #bound(): SQLInputValue[] {
    return this.#values.map((value) =>
      typeof value === "boolean" ? Number(value) : value,
    ) as SQLInputValue[];
  }
}

/** A database with the tables that the migrations make. */
export function migrated(migrations: string): Uint8Array {
  const database = new DatabaseSync(":memory:");
  database.exec(migrations);
  return database.serialize();
}

function known<Value>(values: Map<string, Value>, key: string, make: () => Value): Value {
  const value = values.get(key) ?? make();
  values.set(key, value);
  return value;
}
