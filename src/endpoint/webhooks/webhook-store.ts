/** All SQL about pages of the webhook outbox. */
import type { ObjectDatabase, Statement } from "../../durable/sql.ts";

export type PageRow = { page: number; remove_at: number; deliveries: string };

type Written = { page: number; isOpen: number; removeAt: number; deliveries: string };

export class WebhookStore {
  readonly #insert: Statement<Written>;
  readonly #update: Statement<Written & { wasOpen: number }>;
  readonly #open: Statement<Record<never, never>, PageRow>;
  readonly #closed: Statement<{ page: number }, PageRow>;
  readonly #last: Statement<Record<never, never>, { last: number | null }>;
  readonly #oldest: Statement<{ limit: number }, { page: number; remove_at: number }>;
  readonly #remove: Statement<{ page: number; isOpen: number }>;

  constructor(database: ObjectDatabase) {
    this.#insert = database.statement(
      `INSERT INTO webhook_page (is_open, page, remove_at, deliveries)
       VALUES (:isOpen, :page, :removeAt, :deliveries)`,
    );
    this.#update = database.statement(
      `UPDATE webhook_page SET is_open = :isOpen, remove_at = :removeAt, deliveries = :deliveries
        WHERE is_open = :wasOpen AND page = :page`,
    );
    this.#open = database.statement(
      "SELECT page, remove_at, deliveries FROM webhook_page WHERE is_open = 1 ORDER BY page",
    );
    this.#closed = database.statement(
      "SELECT page, remove_at, deliveries FROM webhook_page WHERE is_open = 0 AND page = :page",
    );
    this.#last = database.statement("SELECT max(page) AS last FROM webhook_page WHERE is_open = 0");
    this.#oldest = database.statement(
      "SELECT page, remove_at FROM webhook_page WHERE is_open = 0 ORDER BY page LIMIT :limit",
    );
    this.#remove = database.statement("DELETE FROM webhook_page WHERE is_open = :isOpen AND page = :page");
  }

  insert(page: number, isOpen: boolean, removeAt: number, deliveries: string): void {
    this.#insert.run({ page, isOpen: Number(isOpen), removeAt, deliveries });
  }

  update(page: number, wasOpen: boolean, isOpen: boolean, removeAt: number, deliveries: string): void {
    this.#update.run({ page, wasOpen: Number(wasOpen), isOpen: Number(isOpen), removeAt, deliveries });
  }

  /** Pages on which something is pending, and the one that is being filled. */
  openPages(): PageRow[] {
    return this.#open.all({});
  }

  closedPage(page: number): PageRow | undefined {
    return this.#closed.first({ page });
  }

  lastClosed(): number {
    return this.#last.first({})?.last ?? 0;
  }

  /** Deletes the oldest closed pages up to the first that is not due. */
  removeClosed(now: number, limit: number): void {
    for (const { page, remove_at } of this.#oldest.all({ limit })) {
      if (remove_at > now) return;
      this.remove(page, false);
    }
  }

  remove(page: number, isOpen: boolean): void {
    this.#remove.run({ page, isOpen: Number(isOpen) });
  }
}
