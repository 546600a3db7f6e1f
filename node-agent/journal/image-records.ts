import type { DatabaseSync, StatementSync } from "node:sqlite";
import * as z from "zod";
import type { CachedItem, CachedImageStore } from "../runtime/images/cached-images.ts";

const itemRow = z.object({
  kind: z.literal("image"),
  name: z.string(),
  content_id: z.string(),
  size_bytes: z.number(),
  last_used_at: z.number(),
});

/** The part of the journal that remembers what the agent keeps on its host. */
export class JournalImageStore implements CachedImageStore {
  readonly #all: StatementSync;
  readonly #save: StatementSync;
  readonly #remove: StatementSync;

  constructor(database: DatabaseSync) {
    this.#all = database.prepare("SELECT * FROM cached ORDER BY last_used_at");
    this.#save = database.prepare("INSERT OR REPLACE INTO cached VALUES (?, ?, ?, ?, ?)");
    this.#remove = database.prepare("DELETE FROM cached WHERE kind = ? AND name = ?");
  }

  items(): CachedItem[] {
    return this.#all.all().map((row) => {
      const { kind, name, content_id, size_bytes, last_used_at } = itemRow.parse(row);
      return { kind, name, contentId: content_id, sizeBytes: size_bytes, lastUsedAt: last_used_at };
    });
  }

  save({ kind, name, contentId, sizeBytes, lastUsedAt }: CachedItem): void {
    this.#save.run(kind, name, contentId, sizeBytes, lastUsedAt);
  }

  remove({ kind, name }: Pick<CachedItem, "kind" | "name">): void {
    this.#remove.run(kind, name);
  }
}
