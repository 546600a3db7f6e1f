/** All SQL about pages of the webhook outbox. */
import type { ObjectDatabase } from "../../durable/sql.ts";

export type PageRow = { readonly page: number; readonly removeAt: number; readonly deliveries: string };

export class WebhookStore {
  readonly #database: ObjectDatabase;

  constructor(database: ObjectDatabase) {
    this.#database = database;
  }

  insert(page: number, isOpen: boolean, removeAt: number, deliveries: string): void {
    this.#database.run`
      INSERT INTO webhook_page (is_open, page, remove_at, deliveries)
      VALUES (${isOpen}, ${page}, ${removeAt}, ${deliveries})`;
  }

  update(page: number, wasOpen: boolean, isOpen: boolean, removeAt: number, deliveries: string): void {
    this.#database.run`
      UPDATE webhook_page SET is_open = ${isOpen}, remove_at = ${removeAt}, deliveries = ${deliveries}
       WHERE is_open = ${wasOpen} AND page = ${page}`;
  }

  /** Pages on which something is pending, and the one that is being filled. */
  openPages(): PageRow[] {
    return this.#database.all<PageRow>`
      SELECT page, remove_at AS removeAt, deliveries FROM webhook_page WHERE is_open = 1 ORDER BY page`;
  }

  closedPage(page: number): PageRow | undefined {
    return this.#database.first<PageRow>`
      SELECT page, remove_at AS removeAt, deliveries FROM webhook_page WHERE is_open = 0 AND page = ${page}`;
  }

  lastClosed(): number {
    const row = this.#database.first<{ last: number | null }>`
      SELECT max(page) AS last FROM webhook_page WHERE is_open = 0`;
    return row?.last ?? 0;
  }

  /** Deletes the oldest closed pages up to the first that is not due; returns how many. */
  removeClosed(now: number, limit: number): number {
    const oldest = this.#database.all<Omit<PageRow, "deliveries">>`
      SELECT page, remove_at AS removeAt FROM webhook_page WHERE is_open = 0 ORDER BY page LIMIT ${limit}`;
    const firstLater = oldest.findIndex(({ removeAt }) => removeAt > now);
    const due = firstLater === -1 ? oldest : oldest.slice(0, firstLater);
    for (const { page } of due) this.remove(page, false);
    return due.length;
  }

  remove(page: number, isOpen: boolean): void {
    this.#database.run`DELETE FROM webhook_page WHERE is_open = ${isOpen} AND page = ${page}`;
  }
}
