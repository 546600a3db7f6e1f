/** Commands that users run in containers, until they have ended: they outlive an agent that is killed. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import * as z from "zod";

/** First process of a command. A pid and its start identify it; `namespace` is null for one of the host's own. */
export type CommandRecord = {
  readonly pid: number;
  readonly start: string;
  readonly namespace: string | null;
};

const commandRow = z.object({ pid: z.number(), start: z.string(), namespace: z.string().nullable() });

export class CommandRecords {
  readonly #all: StatementSync;
  readonly #save: StatementSync;
  readonly #remove: StatementSync;

  constructor(database: DatabaseSync) {
    this.#all = database.prepare("SELECT pid, start, namespace FROM command");
    this.#save = database.prepare("INSERT OR REPLACE INTO command VALUES (?, ?, ?)");
    this.#remove = database.prepare("DELETE FROM command WHERE pid = ? AND start = ?");
  }

  items(): readonly CommandRecord[] {
    return this.#all.all().map((row) => commandRow.parse(row));
  }

  save({ pid, start, namespace }: CommandRecord): void {
    this.#save.run(pid, start, namespace);
  }

  remove({ pid, start }: CommandRecord): void {
    this.#remove.run(pid, start);
  }
}
