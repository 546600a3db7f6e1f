/** All SQL about jobs, the only code that names their columns; and their public ids. */
import { encodeJobId, NONCE_BYTES } from "../../domain/jobs/job-id.ts";
import {
  isFinal,
  retentionOf,
  storedBytesOf,
  type StoredJob,
  type JobState,
  type Payload,
} from "../../domain/jobs/job-machine.ts";
import { SqlFragment, type ObjectDatabase } from "../../durable/sql.ts";

/** A stored job with its place in the queue and the nonce of its public id. */
export type QueueEntry = {
  readonly seq: number;
  readonly nonce: string;
  /** Of the endpoint; the same for all jobs of an object. */
  readonly shard: number;
  readonly job: StoredJob;
  /** Where the outbox has the webhook of its end; 0 while there is none, null for a job without a webhook. */
  readonly webhookPage?: number | null;
};

/** The part of a request that only the worker reads. */
export type WorkerRequest = { readonly input: Payload; readonly optionsJson: string };

/** What is stored elsewhere of a job whose row was removed: keys in R2, and their size. */
export type Removed = { readonly keys: readonly string[]; readonly storedBytes: number };

/** A job with what its worker gets. */
export type EntryWithRequest = QueueEntry & { readonly request: WorkerRequest };

/** The URL that is called when a job ends, or null; and the page of the outbox with the delivery, 0 if it has none. */
export type JobWebhook = { readonly url: string | null; readonly page: number };

type JobRow = Omit<StoredJob, "isSync" | "retentionMs" | "output"> & {
  readonly seq: number;
  readonly nonce: string;
  readonly isSync: number;
  /** Null in old rows. */
  readonly retentionMs: number | null;
  readonly output: string | null;
  readonly webhookPage: number | null;
};

type RequestRow = { readonly input: string; readonly options: string };

/** All but input and options, which may be large and are read for workers alone. */
const JOB_COLUMNS = new SqlFragment(
  `seq, nonce, state, is_sync AS isSync, attempt, retries, rescues, created_at AS createdAt,
   queued_at AS queuedAt, expires_at AS expiresAt, execution_timeout_ms AS executionTimeoutMs,
   retention_ms AS retentionMs, started_at AS startedAt, finished_at AS finishedAt, remove_at AS removeAt,
   worker_id AS workerId, host_id AS hostId, output, error, trace, webhook_page AS webhookPage`,
);

/** When a row is gone for readers: it has expired, or its retention is over. */
const GONE_AT = new SqlFragment("min(expires_at, coalesce(remove_at, expires_at))");

export type RangeCounts = {
  readonly visible: number;
  readonly completed: number;
  readonly waiting: number;
};

/** Sequence numbers from `from` to before `end`. */
export type SeqBounds = { readonly from: number; readonly end: number };

export type InsertedWith = {
  readonly idempotencyKey: string | null;
  readonly hasWebhook: boolean;
  /** Bytes in R2 of all inputs of this priority so far, this one included. */
  readonly storedTotal: number;
};

export class JobStore {
  readonly #database: ObjectDatabase;
  readonly #owner: { readonly shard: number };

  /** `owner`: the object, whose shard is known once it is configured. */
  constructor(database: ObjectDatabase, owner: { readonly shard: number }) {
    this.#database = database;
    this.#owner = owner;
  }

  /** The shard of all jobs here. */
  get shard(): number {
    return this.#owner.shard;
  }

  insert({ seq, nonce, job }: QueueEntry, { input, optionsJson }: WorkerRequest, more: InsertedWith): void {
    const { idempotencyKey, hasWebhook, storedTotal } = more;
    if (idempotencyKey !== null) {
      this.#database.run`INSERT OR REPLACE INTO idempotency (key, seq) VALUES (${idempotencyKey}, ${seq})`;
    }
    this.#database.run`
      INSERT INTO job (seq, nonce, state, is_sync, attempt, retries, rescues, created_at, queued_at, expires_at,
                       execution_timeout_ms, retention_ms, started_at, worker_id, host_id, input, options,
                       idempotency_key, webhook_page, stored_input, stored_total)
      VALUES (${seq}, ${nonce}, ${job.state}, ${job.isSync}, ${job.attempt}, 0, 0, ${job.createdAt},
              ${job.createdAt}, ${job.expiresAt}, ${job.executionTimeoutMs}, ${job.retentionMs}, ${job.startedAt},
              ${job.workerId}, ${job.hostId}, ${encodePayload(input)}, ${optionsJson}, ${idempotencyKey},
              ${hasWebhook ? 0 : null}, ${storedBytesOf(input)}, ${storedTotal})`;
  }

  find(seq: number): QueueEntry | undefined {
    const row = this.#database.first<JobRow>`SELECT ${JOB_COLUMNS} FROM job WHERE seq = ${seq}`;
    return row && this.#toEntry(row);
  }

  /** The job that was submitted with this key. */
  seqOfKey(idempotencyKey: string): number | undefined {
    return this.#database.first<{ seq: number }>`SELECT seq FROM idempotency WHERE key = ${idempotencyKey}`
      ?.seq;
  }

  /**
   * Writes a job after a transition; undefined when the row is not as `before` expects.
   * The page is written only for a job with a webhook, whose URL is returned.
   */
  save(
    seq: number,
    before: Pick<StoredJob, "state" | "attempt">,
    after: StoredJob,
    webhookPage = 0,
  ): { readonly webhook: string | null } | undefined {
    return this.#database.first<{ webhook: string | null }>`
      UPDATE job
         SET state = ${after.state}, attempt = ${after.attempt}, retries = ${after.retries},
             rescues = ${after.rescues}, queued_at = ${after.queuedAt}, started_at = ${after.startedAt},
             finished_at = ${after.finishedAt}, remove_at = ${after.removeAt}, worker_id = ${after.workerId},
             host_id = ${after.hostId}, output = ${after.output && encodePayload(after.output)},
             error = ${after.error && encodeString(after.error)}, trace = ${after.trace},
             webhook_page = iif(webhook_page IS NULL, NULL, ${webhookPage})
       WHERE seq = ${seq} AND state = ${before.state} AND attempt = ${before.attempt}
      RETURNING iif(webhook_page IS NULL, NULL, options ->> '$.webhook') AS webhook`;
  }

  webhookOf(seq: number): JobWebhook {
    const row = this.#database.first<{ url: string | null; page: number | null }>`
      SELECT webhook_page AS page, iif(webhook_page IS NULL, NULL, options ->> '$.webhook') AS url
        FROM job WHERE seq = ${seq}`;
    return { url: row?.url ?? null, page: row?.page ?? 0 };
  }

  requestOf(seq: number): WorkerRequest | undefined {
    const row = this.#database.first<RequestRow>`SELECT input, options FROM job WHERE seq = ${seq}`;
    return row && toWorkerRequest(row);
  }

  /** Updates when a job expires. */
  saveExpiry(seq: number, expiresAt: number): void {
    this.#database.run`UPDATE job SET expires_at = ${expiresAt} WHERE seq = ${seq}`;
  }

  /** Deletes a job; returns what is stored of it elsewhere. */
  remove(seq: number): Removed {
    type Row = { input: string; output: string | null; key: string | null; storedInput: number | null };
    const row = this.#database.first<Row>`
      DELETE FROM job WHERE seq = ${seq}
      RETURNING input, output, idempotency_key AS key, stored_input AS storedInput`;
    if (!row) return { keys: [], storedBytes: 0 };
    // The key may belong to a newer job already.
    if (row.key !== null) this.#database.run`DELETE FROM idempotency WHERE key = ${row.key} AND seq = ${seq}`;
    const input = decodePayload(row.input);
    const output = row.output === null ? null : decodePayload(row.output);
    const keys = [input, output].flatMap((payload) => (payload?.kind === "stored" ? [payload.key] : []));
    return { keys, storedBytes: (row.storedInput ?? storedBytesOf(input)) + storedBytesOf(output) };
  }

  // Queue order

  queuedWithPriority(from: number, end: number, limit: number): EntryWithRequest[] {
    const rows = this.#database.all<JobRow & RequestRow>`
      SELECT ${JOB_COLUMNS}, input, options FROM job
       WHERE seq >= ${from} AND seq < ${end} AND state = 'queued' AND attempt = 0 ORDER BY seq LIMIT ${limit}`;
    return rows.map((row) => this.#toEntryWithRequest(row));
  }

  requeuedWithPriority(from: number, end: number, limit: number): EntryWithRequest[] {
    const rows = this.#database.all<JobRow & RequestRow>`
      SELECT ${JOB_COLUMNS}, input, options FROM requeued JOIN job USING (seq)
       WHERE seq >= ${from} AND seq < ${end} ORDER BY seq LIMIT ${limit}`;
    return rows.map((row) => this.#toEntryWithRequest(row));
  }

  /** Since when the first never-claimed job of a range has been queued; epoch ms. */
  queuedSince(from: number, end: number): number | null {
    const row = this.#database.first<{ queuedAt: number }>`
      SELECT queued_at AS queuedAt FROM job
       WHERE seq >= ${from} AND seq < ${end} AND state = 'queued' AND attempt = 0 ORDER BY seq LIMIT 1`;
    return row?.queuedAt ?? null;
  }

  /** Since when the first requeued job of a range has been queued; epoch ms. */
  requeuedSince(from: number, end: number): number | null {
    const row = this.#database.first<{ queuedAt: number }>`
      SELECT queued_at AS queuedAt FROM requeued JOIN job USING (seq)
       WHERE seq >= ${from} AND seq < ${end} ORDER BY seq LIMIT 1`;
    return row?.queuedAt ?? null;
  }

  /** Returns how many rows were added. */
  addRequeued(seq: number): number {
    return this.#database.all`INSERT OR IGNORE INTO requeued (seq) VALUES (${seq}) RETURNING seq`.length;
  }

  /** Returns how many rows were removed. */
  removeRequeued(seq: number): number {
    return this.#database.all`DELETE FROM requeued WHERE seq = ${seq} RETURNING seq`.length;
  }

  /** Requeued jobs of a range. */
  countRequeued(from: number, end: number): number {
    const row = this.#database.first<{ count: number }>`
      SELECT count(*) AS count FROM requeued WHERE seq >= ${from} AND seq < ${end}`;
    return row?.count ?? 0;
  }

  // Recovery and sweep

  /** The last job of a priority, with the `storedTotal` of its row; null in rows that are older than this count. */
  lastJob(from: number, end: number): { seq: number; storedTotal: number | null } | undefined {
    return this.#database.first<{ seq: number; storedTotal: number | null }>`
      SELECT seq, stored_total AS storedTotal FROM job
       WHERE seq >= ${from} AND seq < ${end} ORDER BY seq DESC LIMIT 1`;
  }

  /** Bytes in R2 of all jobs, read from every row: for an object whose jobs were never counted. */
  sumStoredBytes(): number {
    const row = this.#database.first<{ sum: number }>`
      SELECT coalesce(sum(coalesce(stored_input, ${STORED_INPUT_SIZE}) + ${STORED_OUTPUT_SIZE}), 0) AS sum FROM job`;
    return row?.sum ?? 0;
  }

  jobsFrom(from: number, end: number, limit: number): QueueEntry[] {
    const rows = this.#database.all<JobRow>`
      SELECT ${JOB_COLUMNS} FROM job WHERE seq >= ${from} AND seq < ${end} ORDER BY seq LIMIT ${limit}`;
    return rows.map((row) => this.#toEntry(row));
  }

  /** The newest jobs of a range that ends before `before`, newest first; `state` is that of the row. */
  jobsBefore(before: number, from: number, limit: number, state: JobState | null): QueueEntry[] {
    const rows = this.#database.all<JobRow>`
      SELECT ${JOB_COLUMNS} FROM job
       WHERE seq >= ${from} AND seq < ${before} AND state = coalesce(${state}, state)
       ORDER BY seq DESC LIMIT ${limit}`;
    return rows.map((row) => this.#toEntry(row));
  }

  /** When rows of a range are due to be removed; epoch ms. */
  deadlines(from: number, end: number, limit: number): { seq: number; at: number }[] {
    return this.#database.all<{ seq: number; at: number }>`
      SELECT seq, ${GONE_AT} AS at FROM job WHERE seq >= ${from} AND seq < ${end} ORDER BY seq LIMIT ${limit}`;
  }

  // Ranges, for batches

  /** What the rows of a range say; never-claimed jobs of it wait from `head` on (claims.ts, L3, L4). */
  countRange({ from, end }: SeqBounds, head: number, now: number): RangeCounts {
    const counts = this.#database.first<RangeCounts>`
      SELECT count(*) FILTER (WHERE ${GONE_AT} > ${now}) AS visible,
             count(*) FILTER (WHERE state = 'completed') AS completed,
             count(*) FILTER (WHERE state = 'queued' AND expires_at > ${now}
                                AND (attempt > 0 OR seq >= ${head})) AS waiting
        FROM job WHERE seq >= ${from} AND seq < ${end}`;
    return counts ?? { visible: 0, completed: 0, waiting: 0 };
  }

  visibleSeqs({ from, end }: SeqBounds, now: number, limit: number, offset: number): number[] {
    const rows = this.#database.all<{ seq: number }>`
      SELECT seq FROM job WHERE seq >= ${from} AND seq < ${end} AND ${GONE_AT} > ${now}
       ORDER BY seq LIMIT ${limit} OFFSET ${offset}`;
    return rows.map(({ seq }) => seq);
  }

  /** Jobs whose rows say queued, whether they are or not. */
  queuedSeqs({ from, end }: SeqBounds, limit: number): number[] {
    const rows = this.#database.all<{ seq: number }>`
      SELECT seq FROM job WHERE seq >= ${from} AND seq < ${end} AND state = 'queued' ORDER BY seq LIMIT ${limit}`;
    return rows.map(({ seq }) => seq);
  }

  hasRows({ from, end }: SeqBounds): boolean {
    return this.#database.all`SELECT seq FROM job WHERE seq >= ${from} AND seq < ${end} LIMIT 1`.length > 0;
  }

  #toEntry(row: JobRow): QueueEntry {
    const { seq, nonce, webhookPage } = row;
    return { seq, nonce, shard: this.shard, job: toJob(row), webhookPage };
  }

  #toEntryWithRequest({ input, options, ...row }: JobRow & RequestRow): EntryWithRequest {
    return { ...this.#toEntry(row), request: toWorkerRequest({ input, options }) };
  }
}

/** The size in a column that `decodePayload` would read; strings too long for a reference are not looked at. */
function storedSize(column: "input" | "output"): SqlFragment {
  const size = `CAST(substr(${column}, 2) AS INTEGER)`; // the digits that it begins with
  return new SqlFragment(`iif(octet_length(${column}) < 1000 AND substr(${column}, 1, 1) = '@', ${size}, 0)`);
}

const STORED_INPUT_SIZE = storedSize("input");
const STORED_OUTPUT_SIZE = storedSize("output");

function toWorkerRequest({ input, options }: RequestRow): WorkerRequest {
  return { input: decodePayload(input), optionsJson: options };
}

function toJob({ seq: _, nonce: __, webhookPage: ___, ...row }: JobRow): StoredJob {
  const isSync = row.isSync === 1;
  return {
    ...row,
    isSync,
    retentionMs: row.retentionMs ?? retentionOf(isSync, null),
    output: row.output === null ? null : decodePayload(row.output),
    error: row.error && decodeString(row.error),
  };
}

/** A noncharacter of Unicode, with which no string of a worker begins. */
const ENCODED = "\uffff";

/** The database stores UTF-8, which cannot hold a lone surrogate: a string with one is stored as JSON. */
function encodeString(text: string): string {
  return text.isWellFormed() && !text.startsWith(ENCODED) ? text : ENCODED + JSON.stringify(text);
}

function decodeString(text: string): string {
  return text.startsWith(ENCODED) ? (JSON.parse(text.slice(ENCODED.length)) as string) : text;
}

/** A stored payload is written `@<bytes>:<key>`; JSON text never begins with @. */
function encodePayload(payload: Payload): string {
  return payload.kind === "inline" ? payload.json : `@${payload.sizeBytes}:${payload.key}`;
}

function decodePayload(text: string): Payload {
  const match = /^@(\d+):/.exec(text);
  if (!match) return { kind: "inline", json: text };
  return { kind: "stored", sizeBytes: Number(match[1]), key: text.slice(match[0].length) };
}

// Public ids

export function publicId({ seq, nonce, shard, job }: QueueEntry): string {
  return encodeJobId({ seq, nonce, isSync: job.isSync, shard });
}

/** The part of a public id that cannot be guessed. */
export function randomNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function isUnderway(stored: QueueEntry | undefined): stored is QueueEntry {
  return stored !== undefined && !isFinal(stored.job.state);
}
