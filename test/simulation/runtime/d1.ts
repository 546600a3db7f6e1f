/** D1: SQLite behind a network. A statement runs whole or not at all; a batch likewise. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Network } from "./network.ts";

type Row = Record<string, unknown>;
type Result = { readonly results: Row[]; readonly success: true; readonly meta: Row };

export class SimulatedD1 {
  readonly #network: Network;
  readonly database: DatabaseSync;

  constructor(network: Network, migrations: string) {
    this.#network = network;
    this.database = new DatabaseSync(":memory:");
    this.database.exec(migrations);
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
    const statement = this.#d1.database.prepare(this.#text);
    const bound = this.#values.map((value) => (typeof value === "boolean" ? Number(value) : value));
    const before = changesOf(this.#d1.database);
    const results = (statement.all(...(bound as SQLInputValue[])) as Row[]).map((row) => ({ ...row }));
    const changes = changesOf(this.#d1.database) - before;
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
    return this.#d1.ask(() => {
      const statement = this.#d1.database.prepare(this.#text);
      statement.setReturnArrays(true);
      const bound = this.#values.map((value) => (typeof value === "boolean" ? Number(value) : value));
      return statement.all(...(bound as SQLInputValue[]));
    });
  }
}

function changesOf(database: DatabaseSync): number {
  return (database.prepare("SELECT total_changes() AS changes").get() as { changes: number }).changes;
}
