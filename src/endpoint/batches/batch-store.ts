/** All SQL about batches and the packs of their requests. */
import { unpackRequests, type Batch, type BatchRequest } from "../../domain/jobs/batch.ts";
import type { SeqRanges } from "../../domain/jobs/seq-ranges.ts";
import type { ObjectDatabase } from "../../durable/sql.ts";

/** Requests `first` and following of a batch; null stands for one that was removed. */
export type Pack = { readonly first: number; readonly requests: readonly (BatchRequest | null)[] };

/** Where a pack begins, and how many requests it has. */
export type PackOutline = { readonly first: number; readonly live: number };

type BatchRow = Omit<Batch, "ranges"> & { readonly ranges: string };
type PackRow = { readonly first: number; readonly requests: string };

export class BatchStore {
  readonly #database: ObjectDatabase;

  constructor(database: ObjectDatabase) {
    this.#database = database;
  }

  all(): Batch[] {
    const rows = this.#database.all<BatchRow>`
      SELECT number, nonce, state, name, created_at AS createdAt, touched_at AS touchedAt,
             request_count AS requestCount, next_request AS nextRequest, ranges,
             removed_completed AS removedCompleted, ended_completed AS endedCompleted,
             idempotency_key AS idempotencyKey, stored_bytes AS storedBytes
        FROM batch ORDER BY number`;
    return rows.map((row) => ({ ...row, ranges: JSON.parse(row.ranges) as SeqRanges }));
  }

  save(batch: Batch): void {
    this.#database.run`
      INSERT INTO batch (number, nonce, state, name, created_at, touched_at, request_count, next_request, ranges,
                         removed_completed, ended_completed, idempotency_key, stored_bytes)
      VALUES (${batch.number}, ${batch.nonce}, ${batch.state}, ${batch.name}, ${batch.createdAt},
              ${batch.touchedAt}, ${batch.requestCount}, ${batch.nextRequest}, ${JSON.stringify(batch.ranges)},
              ${batch.removedCompleted}, ${batch.endedCompleted}, ${batch.idempotencyKey}, ${batch.storedBytes})
      ON CONFLICT (number) DO UPDATE
         SET state = excluded.state, name = excluded.name, touched_at = excluded.touched_at,
             request_count = excluded.request_count, next_request = excluded.next_request,
             ranges = excluded.ranges, removed_completed = excluded.removed_completed,
             ended_completed = excluded.ended_completed, stored_bytes = excluded.stored_bytes`;
  }

  remove(number: number): void {
    this.#database.run`DELETE FROM batch WHERE number = ${number}`;
  }

  // Packs

  addPack(batch: number, first: number, live: number, json: string): void {
    this.#database
      .run`INSERT INTO batch_pack (batch, first, live, requests) VALUES (${batch}, ${first}, ${live}, ${json})`;
  }

  outlines(batch: number): PackOutline[] {
    return this.#database.all<PackOutline>`
      SELECT first, live FROM batch_pack WHERE batch = ${batch} ORDER BY first`;
  }

  /** The pack in which a request with this number would be. */
  packOf(batch: number, number: number): Pack | undefined {
    const row = this.#database.first<PackRow>`
      SELECT first, requests FROM batch_pack
       WHERE batch = ${batch} AND first <= ${number} ORDER BY first DESC LIMIT 1`;
    return row && { first: row.first, requests: unpackRequests(row.requests) };
  }

  /** Removes the first pack and returns it, with the length of its JSON. */
  takePack(batch: number): (Pack & { readonly characters: number }) | undefined {
    const row = this.#database.first<PackRow>`
      SELECT first, requests FROM batch_pack WHERE batch = ${batch} ORDER BY first LIMIT 1`;
    if (!row) return undefined;
    const { first, requests } = row;
    this.#removePack(batch, first);
    return { first, requests: unpackRequests(requests), characters: requests.length };
  }

  /** Replaces a pack; one without requests is removed. */
  replacePack(batch: number, { first, requests }: Pack): void {
    const live = requests.filter((request) => request !== null).length;
    this.#removePack(batch, first);
    if (live > 0) this.addPack(batch, first, live, JSON.stringify(requests));
  }

  #removePack(batch: number, first: number): void {
    this.#database.run`DELETE FROM batch_pack WHERE batch = ${batch} AND first = ${first}`;
  }
}
