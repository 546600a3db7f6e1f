/** All SQL about jobs, the only code that names their columns; and their public ids. */
import { decodeJobId, encodeJobId, NONCE_BYTES } from "../../domain/jobs/job-id.ts";
import {
  isFinal,
  retentionOf,
  storedBytesOf,
  type StoredJob,
  type JobState,
  type Payload,
} from "../../domain/jobs/job-machine.ts";
import type { ObjectDatabase } from "../../durable/sql.ts";

/** A stored job with its place in the queue and the nonce of its public id. */
export type QueueEntry = { readonly seq: number; readonly nonce: string; readonly job: StoredJob };

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
};

type QueuedRow = JobRow & { input: string; options: string };

type DeadlineRow = { seq: number; expires_at: number; remove_at: number | null };

/** All but input and options, which may be large and are read for workers alone. */
const JOB_COLUMNS = `seq, nonce, state, is_sync AS isSync, attempt, retries, rescues, created_at AS createdAt,
  queued_at AS queuedAt, expires_at AS expiresAt, execution_timeout_ms AS executionTimeoutMs,
  retention_ms AS retentionMs, started_at AS startedAt, finished_at AS finishedAt, remove_at AS removeAt,
  worker_id AS workerId, host_id AS hostId, output, error, trace`;

/** Rows that a reader may see: not expired, and within their retention. */
const VISIBLE = "expires_at > :now AND (remove_at IS NULL OR remove_at > :now)";

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
  readonly #statements: ReturnType<typeof jobStatements>;

  constructor(database: ObjectDatabase) {
    this.#statements = jobStatements(database);
  }

  insert(stored: QueueEntry, request: WorkerRequest, more: InsertedWith): void {
    const { job } = stored;
    const { idempotencyKey, hasWebhook, storedTotal } = more;
    if (idempotencyKey !== null) this.#statements.addKey.run({ key: idempotencyKey, seq: stored.seq });
    const { isSync, output: _, ...columns } = job;
    this.#statements.insert.run({
      ...columns,
      seq: stored.seq,
      nonce: stored.nonce,
      isSync: isSync ? 1 : 0,
      input: encodePayload(request.input),
      options: request.optionsJson,
      idempotencyKey,
      webhookPage: hasWebhook ? 0 : null,
      storedInput: storedBytesOf(request.input),
      storedTotal,
    });
  }

  find(seq: number): QueueEntry | undefined {
    const row = this.#statements.find.first({ seq });
    return row && toEntry(row);
  }

  /** The job that was submitted with this key. */
  seqOfKey(idempotencyKey: string): number | undefined {
    return this.#statements.findKey.first({ key: idempotencyKey })?.seq;
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
    const { isSync: _, ...columns } = after;
    const rows = this.#statements.saveIfUnchanged.all({
      ...columns,
      seq,
      fromState: before.state,
      fromAttempt: before.attempt,
      output: after.output && encodePayload(after.output),
      error: after.error && encodeString(after.error),
      webhookPage,
    });
    return rows[0];
  }

  webhookOf(seq: number): JobWebhook {
    const row = this.#statements.webhook.first({ seq });
    return { url: row?.url ?? null, page: row?.page ?? 0 };
  }

  requestOf(seq: number): WorkerRequest | undefined {
    const row = this.#statements.request.first({ seq });
    return row && toWorkerRequest(row);
  }

  /** Updates when a job expires. */
  saveExpiry(seq: number, expiresAt: number): void {
    this.#statements.saveExpiry.run({ seq, expiresAt });
  }

  /** Deletes a job; returns what is stored of it elsewhere. */
  remove(seq: number): Removed {
    const row = this.#statements.remove.first({ seq });
    if (!row) return { keys: [], storedBytes: 0 };
    if (row.idempotency_key !== null) this.#statements.removeKey.run({ key: row.idempotency_key, seq });
    const [input, output] = [
      decodePayload(row.input),
      row.output === null ? null : decodePayload(row.output),
    ];
    const keys = [input, output].flatMap((payload) => (payload?.kind === "stored" ? [payload.key] : []));
    return { keys, storedBytes: (row.stored_input ?? storedBytesOf(input)) + storedBytesOf(output) };
  }

  // Queue order

  queuedWithPriority(from: number, end: number, limit: number): EntryWithRequest[] {
    return this.#statements.queuedWithPriority.all({ from, end, limit }).map(toEntryWithRequest);
  }

  requeuedWithPriority(from: number, end: number, limit: number): EntryWithRequest[] {
    return this.#statements.requeuedWithPriority.all({ from, end, limit }).map(toEntryWithRequest);
  }

  /** Since when the first never-claimed job of a range has been queued; epoch ms. */
  queuedSince(from: number, end: number): number | null {
    return this.#statements.queuedSince.first({ from, end })?.queued_at ?? null;
  }

  /** Since when the first requeued job of a range has been queued; epoch ms. */
  requeuedSince(from: number, end: number): number | null {
    return this.#statements.requeuedSince.first({ from, end })?.queued_at ?? null;
  }

  /** Returns how many rows were added. */
  addRequeued(seq: number): number {
    return this.#statements.addRequeued.all({ seq }).length;
  }

  /** Returns how many rows were removed. */
  removeRequeued(seq: number): number {
    return this.#statements.removeRequeued.all({ seq }).length;
  }

  countRequeued(): number {
    return this.#statements.countRequeued.first({})?.count ?? 0;
  }

  // Recovery and sweep

  /** The last job of a priority, with the `storedTotal` of its row; null in rows that are older than this count. */
  lastJob(from: number, end: number): { seq: number; storedTotal: number | null } | undefined {
    const row = this.#statements.lastJob.first({ from, end });
    return row && { seq: row.seq, storedTotal: row.stored_total };
  }

  /** Bytes in R2 of all jobs, read from every row: for an object whose jobs were never counted. */
  sumStoredBytes(): number {
    return this.#statements.sumStoredBytes.first({})?.sum ?? 0;
  }

  jobsFrom(from: number, end: number, limit: number): QueueEntry[] {
    return this.#statements.jobsFrom.all({ from, end, limit }).map(toEntry);
  }

  /** The newest jobs of a range that ends before `before`, newest first; `state` is that of the row. */
  jobsBefore(before: number, from: number, limit: number, state: JobState | null): QueueEntry[] {
    const range = { before, from, limit };
    const rows = state
      ? this.#statements.jobsOfStateBefore.all({ ...range, state })
      : this.#statements.jobsBefore.all(range);
    return rows.map(toEntry);
  }

  deadlines(from: number, end: number, limit: number): { seq: number; at: number }[] {
    return this.#statements.deadlines
      .all({ from, end, limit })
      .map((row) => ({ seq: row.seq, at: Math.min(row.expires_at, row.remove_at ?? row.expires_at) }));
  }

  // Ranges, for batches

  /** What the rows of a range say; never-claimed jobs of it wait from `head` on (claims.ts, L3, L4). */
  countRange(range: SeqBounds, head: number, now: number): RangeCounts {
    const counts = this.#statements.countRange.first({ ...range, head, now });
    return counts ?? { visible: 0, completed: 0, waiting: 0 };
  }

  visibleSeqs(range: SeqBounds, now: number, limit: number, offset: number): number[] {
    return this.#statements.visibleSeqs.all({ ...range, now, limit, offset }).map(({ seq }) => seq);
  }

  /** Jobs whose rows say queued, whether they are or not. */
  queuedSeqs(range: SeqBounds, limit: number): number[] {
    return this.#statements.queuedSeqs.all({ ...range, limit }).map(({ seq }) => seq);
  }

  hasRows(range: SeqBounds): boolean {
    return this.#statements.anyOfRange.first(range) !== undefined;
  }
}

function jobStatements(database: ObjectDatabase) {
  type Range = { from: number; end: number; limit: number };
  return {
    insert: database.statement<Record<string, string | number | null>>(
      `INSERT INTO job (seq, nonce, state, is_sync, attempt, retries, rescues, created_at, queued_at, expires_at,
                        execution_timeout_ms, retention_ms, started_at, worker_id, host_id, input, options,
                        idempotency_key, webhook_page, stored_input, stored_total)
       VALUES (:seq, :nonce, :state, :isSync, :attempt, 0, 0, :createdAt, :createdAt, :expiresAt,
               :executionTimeoutMs, :retentionMs, :startedAt, :workerId, :hostId, :input, :options,
               :idempotencyKey, :webhookPage, :storedInput, :storedTotal)`,
    ),
    find: database.statement<{ seq: number }, JobRow>(`SELECT ${JOB_COLUMNS} FROM job WHERE seq = :seq`),
    /** Returns no row when another transition came first. */
    saveIfUnchanged: database.statement<Record<string, string | number | null>, { webhook: string | null }>(
      `UPDATE job
          SET state = :state, attempt = :attempt, retries = :retries, rescues = :rescues,
              queued_at = :queuedAt, started_at = :startedAt, finished_at = :finishedAt,
              remove_at = :removeAt, worker_id = :workerId, host_id = :hostId,
              output = :output, error = :error, trace = :trace,
              webhook_page = iif(webhook_page IS NULL, NULL, :webhookPage)
        WHERE seq = :seq AND state = :fromState AND attempt = :fromAttempt
       RETURNING iif(webhook_page IS NULL, NULL, options ->> '$.webhook') AS webhook`,
    ),
    webhook: database.statement<{ seq: number }, { url: string | null; page: number | null }>(
      `SELECT webhook_page AS page, iif(webhook_page IS NULL, NULL, options ->> '$.webhook') AS url
         FROM job WHERE seq = :seq`,
    ),
    request: database.statement<{ seq: number }, { input: string; options: string }>(
      "SELECT input, options FROM job WHERE seq = :seq",
    ),
    saveExpiry: database.statement<{ seq: number; expiresAt: number }>(
      "UPDATE job SET expires_at = :expiresAt WHERE seq = :seq",
    ),
    remove: database.statement<
      { seq: number },
      { input: string; output: string | null; idempotency_key: string | null; stored_input: number | null }
    >("DELETE FROM job WHERE seq = :seq RETURNING input, output, idempotency_key, stored_input"),
    findKey: database.statement<{ key: string }, { seq: number }>(
      "SELECT seq FROM idempotency WHERE key = :key",
    ),
    addKey: database.statement<{ key: string; seq: number }>(
      "INSERT OR REPLACE INTO idempotency (key, seq) VALUES (:key, :seq)",
    ),
    /** The key may belong to a newer job already. */
    removeKey: database.statement<{ key: string; seq: number }>(
      "DELETE FROM idempotency WHERE key = :key AND seq = :seq",
    ),
    queuedWithPriority: database.statement<Range, QueuedRow>(
      `SELECT ${JOB_COLUMNS}, input, options FROM job
        WHERE seq >= :from AND seq < :end AND state = 'queued' AND attempt = 0
        ORDER BY seq LIMIT :limit`,
    ),
    requeuedWithPriority: database.statement<Range, QueuedRow>(
      `SELECT ${JOB_COLUMNS}, input, options FROM requeued JOIN job USING (seq)
        WHERE seq >= :from AND seq < :end ORDER BY seq LIMIT :limit`,
    ),
    queuedSince: database.statement<{ from: number; end: number }, { queued_at: number }>(
      `SELECT queued_at FROM job WHERE seq >= :from AND seq < :end AND state = 'queued' AND attempt = 0
        ORDER BY seq LIMIT 1`,
    ),
    requeuedSince: database.statement<{ from: number; end: number }, { queued_at: number }>(
      `SELECT queued_at FROM requeued JOIN job USING (seq) WHERE seq >= :from AND seq < :end
        ORDER BY seq LIMIT 1`,
    ),
    addRequeued: database.statement<{ seq: number }, { seq: number }>(
      "INSERT OR IGNORE INTO requeued (seq) VALUES (:seq) RETURNING seq",
    ),
    removeRequeued: database.statement<{ seq: number }, { seq: number }>(
      "DELETE FROM requeued WHERE seq = :seq RETURNING seq",
    ),
    countRequeued: database.statement<Record<never, never>, { count: number }>(
      "SELECT count(*) AS count FROM requeued",
    ),
    lastJob: database.statement<{ from: number; end: number }, { seq: number; stored_total: number | null }>(
      "SELECT seq, stored_total FROM job WHERE seq >= :from AND seq < :end ORDER BY seq DESC LIMIT 1",
    ),
    sumStoredBytes: database.statement<Record<never, never>, { sum: number }>(
      `SELECT coalesce(sum(coalesce(stored_input, ${storedSize("input")}) + ${storedSize("output")}), 0) AS sum
         FROM job`,
    ),
    jobsFrom: database.statement<Range, JobRow>(
      `SELECT ${JOB_COLUMNS} FROM job WHERE seq >= :from AND seq < :end ORDER BY seq LIMIT :limit`,
    ),
    jobsBefore: database.statement<{ before: number; from: number; limit: number }, JobRow>(
      `SELECT ${JOB_COLUMNS} FROM job WHERE seq >= :from AND seq < :before ORDER BY seq DESC LIMIT :limit`,
    ),
    jobsOfStateBefore: database.statement<
      { before: number; from: number; limit: number; state: JobState },
      JobRow
    >(
      `SELECT ${JOB_COLUMNS} FROM job WHERE seq >= :from AND seq < :before AND state = :state
        ORDER BY seq DESC LIMIT :limit`,
    ),
    deadlines: database.statement<Range, DeadlineRow>(
      `SELECT seq, expires_at, remove_at FROM job
        WHERE seq >= :from AND seq < :end ORDER BY seq LIMIT :limit`,
    ),
    countRange: database.statement<SeqBounds & { head: number; now: number }, RangeCounts>(
      `SELECT count(*) FILTER (WHERE ${VISIBLE}) AS visible,
              count(*) FILTER (WHERE state = 'completed') AS completed,
              count(*) FILTER (WHERE state = 'queued' AND expires_at > :now
                                 AND (attempt > 0 OR seq >= :head)) AS waiting
         FROM job WHERE seq >= :from AND seq < :end`,
    ),
    visibleSeqs: database.statement<
      SeqBounds & { now: number; limit: number; offset: number },
      { seq: number }
    >(
      `SELECT seq FROM job WHERE seq >= :from AND seq < :end AND ${VISIBLE}
        ORDER BY seq LIMIT :limit OFFSET :offset`,
    ),
    queuedSeqs: database.statement<Range, { seq: number }>(
      `SELECT seq FROM job WHERE seq >= :from AND seq < :end AND state = 'queued' ORDER BY seq LIMIT :limit`,
    ),
    anyOfRange: database.statement<SeqBounds, { seq: number }>(
      "SELECT seq FROM job WHERE seq >= :from AND seq < :end LIMIT 1",
    ),
  };
}

/** The size in a column that `decodePayload` would read; strings too long for a reference are not looked at. */
function storedSize(column: "input" | "output"): string {
  const size = `CAST(substr(${column}, 2) AS INTEGER)`; // the digits that it begins with
  return `iif(octet_length(${column}) < 1000 AND substr(${column}, 1, 1) = '@', ${size}, 0)`;
}

function toEntryWithRequest({ input, options, ...row }: QueuedRow): EntryWithRequest {
  return { ...toEntry(row), request: toWorkerRequest({ input, options }) };
}

function toWorkerRequest(row: Pick<QueuedRow, "input" | "options">): WorkerRequest {
  return { input: decodePayload(row.input), optionsJson: row.options };
}

function toEntry({ seq, nonce, ...row }: JobRow): QueueEntry {
  const isSync = row.isSync === 1;
  const job: StoredJob = {
    ...row,
    isSync,
    retentionMs: row.retentionMs ?? retentionOf(isSync, null),
    output: row.output === null ? null : decodePayload(row.output),
    error: row.error && decodeString(row.error),
  };
  return { seq, nonce, job };
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

/** The shard of all jobs: the number is part of their ids. */
const SHARD = 0;

export function publicId({ seq, nonce, job }: QueueEntry): string {
  return encodeJobId({ seq, nonce, isSync: job.isSync, shard: SHARD });
}

/** What a public id contains; undefined for an id that no job of an object can have. */
export function parsePublicId(jobId: string): { seq: number; nonce: string; isSync: boolean } | undefined {
  const id = decodeJobId(jobId);
  return id?.shard === SHARD ? id : undefined;
}

/** The part of a public id that cannot be guessed. */
export function randomNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function isUnderway(stored: QueueEntry | undefined): stored is QueueEntry {
  return stored !== undefined && !isFinal(stored.job.state);
}
