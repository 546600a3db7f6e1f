/** The table `fact`: single values of an object, one row of JSON each. Every feature keeps its own under its name. */
import type { ObjectDatabase, Statement } from "../../durable/sql.ts";

/** The stored names. A row with another name is one that a migration has renamed. */
export type FactName =
  | "config"
  | "report"
  | "webhook_secrets"
  | "removed"
  | "checkpoint"
  | "desired_workers"
  | "rollout";

/** Facts of which there are several: the rest of the name identifies the subject, such as the id of a host. */
export type FactPrefix = "claims:";

/** One value that outlasts the object's memory. */
export type Fact<Value> = {
  readonly read: () => Value | undefined;
  readonly write: (value: Value) => void;
};

/** Values by key, each in its own row. */
export type FactMap<Value> = {
  readonly entries: () => readonly (readonly [key: string, value: Value])[];
  readonly write: (key: string, value: Value) => void;
  readonly remove: (key: string) => void;
};

export class FactStore {
  readonly #read: Statement<{ name: string }, { json: string }>;
  readonly #readRange: Statement<{ from: string; end: string }, { name: string; json: string }>;
  readonly #write: Statement<{ name: string; json: string }>;
  readonly #remove: Statement<{ name: string }>;

  constructor(database: ObjectDatabase) {
    this.#read = database.statement("SELECT json FROM fact WHERE name = :name");
    this.#readRange = database.statement(
      "SELECT name, json FROM fact WHERE name >= :from AND name < :end ORDER BY name",
    );
    this.#write = database.statement(
      `INSERT INTO fact (name, json) VALUES (:name, :json)
       ON CONFLICT (name) DO UPDATE SET json = excluded.json`,
    );
    this.#remove = database.statement("DELETE FROM fact WHERE name = :name");
  }

  /** The fact of this name; `Value` is what its one owner writes. */
  fact<Value>(name: FactName): Fact<Value> {
    return {
      read: () => {
        const row = this.#read.first({ name });
        return row && (JSON.parse(row.json) as Value);
      },
      write: (value) => this.#write.run({ name, json: JSON.stringify(value) }),
    };
  }

  map<Value>(prefix: FactPrefix): FactMap<Value> {
    return {
      entries: () =>
        this.#readRange
          .all({ from: prefix, end: `${prefix}\u{10ffff}` })
          .map(({ name, json }) => [name.slice(prefix.length), JSON.parse(json) as Value]),
      write: (key, value) => this.#write.run({ name: prefix + key, json: JSON.stringify(value) }),
      remove: (key) => this.#remove.run({ name: prefix + key }),
    };
  }
}
