/** The table `fact`: single values of an object, one row of JSON each. Every feature keeps its own under its name. */
import type { ObjectDatabase } from "../../durable/sql.ts";

/** The stored names. A row with another name is one that a migration has renamed. */
export type FactName =
  | "config"
  | "report"
  | "webhook_secrets"
  | "removed"
  | "checkpoint"
  | "desired_workers"
  | "canary"
  | "rollout"
  | "shards"
  | "trial";

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
  readonly #database: ObjectDatabase;

  constructor(database: ObjectDatabase) {
    this.#database = database;
  }

  /** The fact of this name; `Value` is what its one owner writes. */
  fact<Value>(name: FactName): Fact<Value> {
    return {
      read: () => {
        const row = this.#database.first<{ json: string }>`SELECT json FROM fact WHERE name = ${name}`;
        return row && (JSON.parse(row.json) as Value);
      },
      write: (value) => this.#write(name, value),
    };
  }

  map<Value>(prefix: FactPrefix): FactMap<Value> {
    return {
      entries: () => {
        const rows = this.#database.all<{ name: string; json: string }>`
          SELECT name, json FROM fact
           WHERE name >= ${prefix} AND name < ${`${prefix}\u{10ffff}`} ORDER BY name`;
        return rows.map(({ name, json }) => [name.slice(prefix.length), JSON.parse(json) as Value]);
      },
      write: (key, value) => this.#write(prefix + key, value),
      remove: (key) => this.#database.run`DELETE FROM fact WHERE name = ${prefix + key}`,
    };
  }

  #write(name: string, value: unknown): void {
    this.#database.run`
      INSERT INTO fact (name, json) VALUES (${name}, ${JSON.stringify(value)})
      ON CONFLICT (name) DO UPDATE SET json = excluded.json`;
  }
}
