/** All SQL about batches and the packs of their requests. */
import { unpackRequests, type Batch, type BatchRequest, type BatchState } from "../../domain/jobs/batch.ts";
import type { SeqRanges } from "../../domain/jobs/seq-ranges.ts";
import type { ObjectDatabase } from "../../durable/sql.ts";

/** Requests `first` and following of a batch; null stands for one that was removed. */
export type Pack = { readonly first: number; readonly requests: readonly (BatchRequest | null)[] };

/** Where a pack begins, and how many requests it has. */
export type PackOutline = { readonly first: number; readonly live: number };

type BatchRow = {
  number: number;
  nonce: string;
  state: BatchState;
  name: string | null;
  created_at: number;
  touched_at: number;
  request_count: number;
  next_request: number;
  ranges: string;
  removed_completed: number;
  ended_completed: number | null;
  idempotency_key: string | null;
  stored_bytes: number;
};

export class BatchStore {
  readonly #statements: ReturnType<typeof batchStatements>;

  constructor(database: ObjectDatabase) {
    this.#statements = batchStatements(database);
  }

  all(): Batch[] {
    return this.#statements.all.all({}).map(toBatch);
  }

  save(batch: Batch): void {
    this.#statements.save.run({
      number: batch.number,
      nonce: batch.nonce,
      state: batch.state,
      name: batch.name,
      createdAt: batch.createdAt,
      touchedAt: batch.touchedAt,
      requestCount: batch.requestCount,
      nextRequest: batch.nextRequest,
      ranges: JSON.stringify(batch.ranges),
      removedCompleted: batch.removedCompleted,
      endedCompleted: batch.endedCompleted,
      idempotencyKey: batch.idempotencyKey,
      storedBytes: batch.storedBytes,
    });
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
    all: database.statement<Record<never, never>, BatchRow>("SELECT * FROM batch ORDER BY number"),
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

function toBatch(row: BatchRow): Batch {
  return {
    number: row.number,
    nonce: row.nonce,
    state: row.state,
    name: row.name,
    createdAt: row.created_at,
    touchedAt: row.touched_at,
    requestCount: row.request_count,
    nextRequest: row.next_request,
    ranges: JSON.parse(row.ranges) as SeqRanges,
    removedCompleted: row.removed_completed,
    endedCompleted: row.ended_completed,
    idempotencyKey: row.idempotency_key,
    storedBytes: row.stored_bytes,
  };
}
