/** All SQL about batches and the packs of their requests. */
import { unpackRequests, type Batch, type BatchRequest } from "../../domain/jobs/batch.ts";
import type { SeqRanges } from "../../domain/jobs/seq-ranges.ts";
import type { ObjectDatabase } from "../../durable/sql.ts";

/** Requests `first` and following of a batch; null stands for one that was removed. */
export type Pack = { readonly first: number; readonly requests: readonly (BatchRequest | null)[] };

/** Where a pack begins, and how many requests it has. */
export type PackOutline = { readonly first: number; readonly live: number };

type BatchRow = Omit<Batch, "ranges"> & { readonly ranges: string };

export class BatchStore {
  readonly #statements: ReturnType<typeof batchStatements>;

  constructor(database: ObjectDatabase) {
    this.#statements = batchStatements(database);
  }

  all(): Batch[] {
    return this.#statements.all
      .all({})
      .map((row) => ({ ...row, ranges: JSON.parse(row.ranges) as SeqRanges }));
  }

  save(batch: Batch): void {
    this.#statements.save.run({ ...batch, ranges: JSON.stringify(batch.ranges) });
  }

  remove(number: number): void {
    this.#statements.remove.run({ number });
  }

  // Packs

  addPack(batch: number, first: number, live: number, json: string): void {
    this.#statements.addPack.run({ batch, first, live, requests: json });
  }

  outlines(batch: number): PackOutline[] {
    return this.#statements.outlines.all({ batch });
  }

  /** The pack in which a request with this number would be. */
  packOf(batch: number, number: number): Pack | undefined {
    const row = this.#statements.packOf.first({ batch, number });
    return row && { first: row.first, requests: unpackRequests(row.requests) };
  }

  /** Removes the first pack and returns it, with the length of its JSON. */
  takePack(batch: number): (Pack & { readonly characters: number }) | undefined {
    const row = this.#statements.firstPack.first({ batch });
    if (!row) return undefined;
    this.#statements.removePack.run({ batch, first: row.first });
    return {
      first: row.first,
      requests: unpackRequests(row.requests),
      characters: row.requests.length,
    };
  }

  /** Replaces a pack; one without requests is removed. */
  replacePack(batch: number, { first, requests }: Pack): void {
    const live = requests.filter((request) => request !== null).length;
    this.#statements.removePack.run({ batch, first });
    if (live > 0) this.addPack(batch, first, live, JSON.stringify(requests));
  }
}

function batchStatements(database: ObjectDatabase) {
  type PackRow = { first: number; requests: string };
  return {
    all: database.statement<Record<never, never>, BatchRow>(
      `SELECT number, nonce, state, name, created_at AS createdAt, touched_at AS touchedAt,
              request_count AS requestCount, next_request AS nextRequest, ranges,
              removed_completed AS removedCompleted, ended_completed AS endedCompleted,
              idempotency_key AS idempotencyKey, stored_bytes AS storedBytes
         FROM batch ORDER BY number`,
    ),
    save: database.statement<Record<string, string | number | null>>(
      `INSERT INTO batch (number, nonce, state, name, created_at, touched_at, request_count, next_request,
                          ranges, removed_completed, ended_completed, idempotency_key, stored_bytes)
       VALUES (:number, :nonce, :state, :name, :createdAt, :touchedAt, :requestCount, :nextRequest,
               :ranges, :removedCompleted, :endedCompleted, :idempotencyKey, :storedBytes)
       ON CONFLICT (number) DO UPDATE
          SET state = excluded.state, name = excluded.name, touched_at = excluded.touched_at,
              request_count = excluded.request_count, next_request = excluded.next_request,
              ranges = excluded.ranges, removed_completed = excluded.removed_completed,
              ended_completed = excluded.ended_completed, stored_bytes = excluded.stored_bytes`,
    ),
    remove: database.statement<{ number: number }>("DELETE FROM batch WHERE number = :number"),
    addPack: database.statement<{ batch: number; first: number; live: number; requests: string }>(
      "INSERT INTO batch_pack (batch, first, live, requests) VALUES (:batch, :first, :live, :requests)",
    ),
    outlines: database.statement<{ batch: number }, { first: number; live: number }>(
      "SELECT first, live FROM batch_pack WHERE batch = :batch ORDER BY first",
    ),
    packOf: database.statement<{ batch: number; number: number }, PackRow>(
      `SELECT first, requests FROM batch_pack
        WHERE batch = :batch AND first <= :number ORDER BY first DESC LIMIT 1`,
    ),
    firstPack: database.statement<{ batch: number }, PackRow>(
      "SELECT first, requests FROM batch_pack WHERE batch = :batch ORDER BY first LIMIT 1",
    ),
    removePack: database.statement<{ batch: number; first: number }>(
      "DELETE FROM batch_pack WHERE batch = :batch AND first = :first",
    ),
  };
}
