/**
 * What the agent must still know after it was killed: its workers, the attempts that they hold,
 * and the results that the edge has not acknowledged.
 *
 * J1  A report is on the disk before its worker learns that the result arrived.
 * J2  Everything else need only outlive the process: when the whole host fails, its containers and their
 *     attempts are gone with it. So only reports wait for the disk, all that came together in one commit, and
 *     settings: by the session before its own, an agent shows the edge that what that one had is gone.
 *     What an agent that is killed may lack, as it would if it were killed just before, waits for the next commit,
 *     5 ms at most: that a job has reached its worker, and that the edge has what it was sent.
 * J3  One process at a time: a second agent on the same state directory fails at once.
 */
import * as z from "zod";
import { join } from "node:path";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import {
  type AssignmentOutline,
  assignmentOutlineSchema,
  type PublishedPort,
  publishedPortSchema,
} from "../../src/contract/agent/agent.ts";
import { CommandRecords } from "./command-records.ts";
import { openDatabase } from "./database.ts";
import { DeferredWrites } from "./deferred-writes.ts";
import type { CachedImage, CachedImageStore } from "../disk/cached-images.ts";

export type AttemptRef = {
  readonly jobId: string;
  readonly attempt: number;
  readonly workerId: string;
  readonly endpointId: string;
};

export type AttemptRecord = AttemptRef & { readonly receivedAt: number; readonly executionTimeoutMs: number };

/** `isDelivered`: the reply that brought it to its worker was written whole. */
export type JournalAttempt = AttemptRecord & { readonly isDelivered: boolean };

/** A report as it will be sent, as JSON text. */
export type ReportRecord = AttemptRef & { readonly body: string };

/** A large result, as JSON text, goes to the edge separately; null when the report has it, or there is no result. */
export type NewReport = ReportRecord & { readonly output: string | null };

/** Where a worker's own server listens, and where it is probed for its health. */
export const serverSettingsSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  healthPort: z.number().int().min(1).max(65_535),
  healthPath: z.string().startsWith("/"),
});
export type ServerSettings = z.infer<typeof serverSettingsSchema>;

export type WorkerRecord = {
  readonly assignment: AssignmentOutline;
  readonly token: string;
  /** The container has shown that it is ready. */
  readonly wasReady: boolean;
  /** Where its own server listens; null for none. */
  readonly server: ServerSettings | null;
};

/** Up to where the edge has the output of a worker: a place in it, and the number of the last line. */
export type OutputPlace = { readonly position: string; readonly seq: number };

/** Which chunks of an attempt the journal holds, by their numbers. */
export type ChunkSpan = { readonly first: number; readonly last: number };

type PendingReport = {
  readonly report: NewReport;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

const refRow = { job_id: z.string(), attempt: z.number(), worker_id: z.string(), endpoint_id: z.string() };
const attemptRow = z.object({
  ...refRow,
  received_at: z.number(),
  execution_timeout_ms: z.number(),
  is_delivered: z.number(),
});
const reportRow = z.object({ ...refRow, body: z.string(), has_output: z.number() });
const outputRow = z.object({ output: z.string() });
const workerRow = z.object({
  token: z.string(),
  has_taken: z.number(),
  assignment: z.string(),
  server: z.string().nullable(),
});
const spanRow = z.object({ first: z.number().nullable(), last: z.number().nullable() });
const chunkRow = z.object({ output: z.string() });
const placeRow = z.object({ position: z.string(), seq: z.number() });
const settingRow = z.object({ value: z.string() });
const podRow = z.object({ pod_id: z.string() });
const portsRow = z.object({ ports: z.string() });

/** Most chunks of one batch. */
const CHUNKS_MAX = 1_000;

export class Journal {
  readonly cachedImages: JournalImageStore;
  readonly commands: CommandRecords;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #deferred: DeferredWrites;
  readonly #onError: (error: unknown) => void;
  #pending: PendingReport[] = [];

  /** `onError`: what nobody waits for could not be written yet. */
  constructor(stateDir: string, onError: (error: unknown) => void = () => {}) {
    this.#database = openDatabase(join(stateDir, "journal.db"));
    this.cachedImages = new JournalImageStore(this.#database);
    this.commands = new CommandRecords(this.#database);
    this.#deferred = new DeferredWrites(() => this.#writeDeferred());
    this.#onError = onError;
  }

  close(): void {
    this.#flush();
    this.#writeDeferred();
    this.#deferred.end();
    this.#database.close();
  }

  // Settings

  setting(name: string): string | undefined {
    const row = this.#statement("SELECT value FROM setting WHERE name = ?").get(name);
    return row === undefined ? undefined : settingRow.parse(row).value;
  }

  saveSetting(name: string, value: string): void {
    this.#writeToDisk(() =>
      this.#run("INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)", name, value),
    );
  }

  // Workers

  workers(): WorkerRecord[] {
    const rows = this.#statement("SELECT token, has_taken, assignment, server FROM worker").all();
    return rows.map((row) => {
      const { token, has_taken, assignment, server } = workerRow.parse(row);
      return {
        token,
        wasReady: has_taken === 1,
        assignment: assignmentOutlineSchema.parse(JSON.parse(assignment)),
        server: server === null ? null : serverSettingsSchema.parse(JSON.parse(server)),
      };
    });
  }

  saveWorker({ assignment, token, wasReady, server }: WorkerRecord): void {
    this.#run(
      "INSERT OR REPLACE INTO worker (worker_id, token, has_taken, assignment, server) VALUES (?, ?, ?, ?, ?)",
      assignment.workerId,
      token,
      wasReady ? 1 : 0,
      JSON.stringify(assignmentOutlineSchema.parse(assignment)), // the caller may have passed more fields
      server && JSON.stringify(server),
    );
  }

  removeWorker(workerId: string): void {
    this.#run("DELETE FROM worker WHERE worker_id = ?", workerId);
  }

  // Pods

  /** Ids of the pods that have published ports, whether they run or not. */
  podsWithPorts(): string[] {
    return this.#statement("SELECT pod_id FROM pod")
      .all()
      .map((row) => podRow.parse(row).pod_id);
  }

  podPorts(podId: string): PublishedPort[] {
    const row = this.#statement("SELECT ports FROM pod WHERE pod_id = ?").get(podId);
    return row === undefined ? [] : z.array(publishedPortSchema).parse(JSON.parse(portsRow.parse(row).ports));
  }

  savePodPorts(podId: string, ports: readonly PublishedPort[]): void {
    this.#run("INSERT OR REPLACE INTO pod VALUES (?, ?)", podId, JSON.stringify(ports));
  }

  removePodPorts(podId: string): void {
    this.#run("DELETE FROM pod WHERE pod_id = ?", podId);
  }

  // Output

  outputPlace(workerId: string): OutputPlace | undefined {
    const row = this.#statement("SELECT position, seq FROM output_place WHERE worker_id = ?").get(workerId);
    return row === undefined ? undefined : placeRow.parse(row);
  }

  saveOutputPlace(workerId: string, { position, seq }: OutputPlace): void {
    this.#run("INSERT OR REPLACE INTO output_place VALUES (?, ?, ?)", workerId, position, seq);
  }

  removeOutputPlace(workerId: string): void {
    this.#run("DELETE FROM output_place WHERE worker_id = ?", workerId);
  }

  // Attempts

  attempts(): JournalAttempt[] {
    this.#writeDeferred();
    return this.#statement("SELECT * FROM attempt ORDER BY received_at")
      .all()
      .map((row) => {
        const parsed = attemptRow.parse(row);
        return {
          ...readRef(parsed),
          receivedAt: parsed.received_at,
          executionTimeoutMs: parsed.execution_timeout_ms,
          isDelivered: parsed.is_delivered === 1,
        };
      });
  }

  /** In one commit. */
  addAttempts(attempts: readonly AttemptRecord[]): void {
    this.#transaction("BEGIN IMMEDIATE", () => {
      for (const attempt of attempts) this.#addAttempt(attempt);
    });
  }

  #addAttempt(attempt: AttemptRecord): void {
    this.#run(
      "INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?, ?, ?, 0)",
      ...refValues(attempt),
      attempt.receivedAt,
      attempt.executionTimeoutMs,
    );
  }

  /**
   * The worker of the attempt has it. Of a repeated attempt that is written at once: an agent that does not know it drops
   * what the worker posts.
   */
  markDelivered({ jobId, attempt }: AttemptRef): void {
    this.#deferred.add(`delivery of ${jobId}/${attempt}`, () =>
      this.#run("UPDATE attempt SET is_delivered = 1 WHERE job_id = ? AND attempt = ?", jobId, attempt),
    );
    if (attempt > 1) this.#writeDeferred();
  }

  /** Forgets the attempt, its report and its chunks. Chunks without the rest would stay for ever. */
  removeAttempt({ jobId, attempt }: AttemptRef): void {
    this.#deferred.add(`end of ${jobId}/${attempt}`, () => {
      this.#run("DELETE FROM attempt WHERE job_id = ? AND attempt = ?", jobId, attempt);
      this.#run("DELETE FROM report WHERE job_id = ? AND attempt = ?", jobId, attempt);
      this.#run("DELETE FROM chunk WHERE job_id = ? AND attempt = ?", jobId, attempt);
    });
  }

  addChunk(ref: AttemptRef, sequence: number, output: string): void {
    this.#run("INSERT INTO chunk VALUES (?, ?, ?, ?)", ref.jobId, ref.attempt, sequence, output);
  }

  chunkSpan({ jobId, attempt }: AttemptRef): ChunkSpan | undefined {
    const sql =
      "SELECT min(sequence) AS first, max(sequence) AS last FROM chunk WHERE job_id = ? AND attempt = ?";
    const { first, last } = spanRow.parse(this.#statement(sql).get(jobId, attempt));
    return first === null || last === null ? undefined : { first, last };
  }

  /** Chunks from one number on, the first in any case and more while they are not above `limitBytes`. */
  chunksFrom({ jobId, attempt }: AttemptRef, from: number, limitBytes: number): string[] {
    const sql =
      "SELECT output FROM chunk WHERE job_id = ? AND attempt = ? AND sequence >= ? ORDER BY sequence";
    const outputs: string[] = [];
    let sizeBytes = 0;
    for (const row of this.#statement(sql).iterate(jobId, attempt, from)) {
      const { output } = chunkRow.parse(row);
      sizeBytes += Buffer.byteLength(output);
      if (outputs.length > 0 && (sizeBytes > limitBytes || outputs.length === CHUNKS_MAX)) break;
      outputs.push(output);
    }
    return outputs;
  }

  removeChunksBefore({ jobId, attempt }: AttemptRef, sequence: number): void {
    const sql = "DELETE FROM chunk WHERE job_id = ? AND attempt = ? AND sequence < ?";
    this.#deferred.add(`chunks of ${jobId}/${attempt}`, () => this.#run(sql, jobId, attempt, sequence));
  }

  // Reports

  /** All reports, without the results that go by themselves. */
  reports(): { readonly report: ReportRecord; readonly hasOutput: boolean }[] {
    this.#writeDeferred();
    const rows = this.#statement(
      `SELECT job_id, attempt, worker_id, endpoint_id, body, output IS NOT NULL AS has_output
         FROM report ORDER BY rowid`,
    ).all();
    return rows.map((row) => {
      const parsed = reportRow.parse(row);
      return { report: { ...readRef(parsed), body: parsed.body }, hasOutput: parsed.has_output === 1 };
    });
  }

  /** The result beside a report. */
  reportedOutput({ jobId, attempt }: AttemptRef): string {
    const sql = "SELECT output FROM report WHERE job_id = ? AND attempt = ?";
    return outputRow.parse(this.#statement(sql).get(jobId, attempt)).output;
  }

  /** Takes the place of an older report of the attempt. Resolves when it is on the disk. */
  addReport(report: NewReport): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ report, resolve, reject });
      if (this.#pending.length === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    const pending = this.#pending;
    if (pending.length === 0) return;
    this.#pending = [];
    try {
      this.#writeToDisk(() => {
        for (const { report } of pending) this.#writeReport(report);
      }); // J1
    } catch (error) {
      for (const { reject } of pending) reject(error);
      return;
    }
    for (const { resolve } of pending) resolve();
  }

  #writeToDisk(write: () => void): void {
    try {
      this.#transaction("PRAGMA synchronous = FULL; BEGIN IMMEDIATE", write);
    } finally {
      this.#database.exec("PRAGMA synchronous = NORMAL"); // J2
    }
  }

  #writeReport(report: NewReport): void {
    const { jobId, attempt, body, output } = report;
    this.#run("INSERT OR REPLACE INTO report VALUES (?, ?, ?, ?, ?, ?)", ...refValues(report), body, output);
    this.#run("DELETE FROM attempt WHERE job_id = ? AND attempt = ?", jobId, attempt);
  }

  // Statements

  #writeDeferred(): void {
    if (this.#deferred.isEmpty) return;
    try {
      this.#transaction("BEGIN IMMEDIATE", () => {});
    } catch (error) {
      this.#onError(error);
    }
  }

  #transaction(begin: string, write: () => void): void {
    this.#database.exec(begin);
    try {
      this.#deferred.write();
      write();
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
    this.#deferred.end();
  }

  #run(sql: string, ...values: SQLInputValue[]): void {
    this.#statement(sql).run(...values);
  }

  #statement(sql: string): StatementSync {
    const cached = this.#statements.get(sql);
    if (cached) return cached;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function refValues(ref: AttemptRef): [string, number, string, string] {
  return [ref.jobId, ref.attempt, ref.workerId, ref.endpointId];
}

function readRef(row: {
  job_id: string;
  attempt: number;
  worker_id: string;
  endpoint_id: string;
}): AttemptRef {
  return { jobId: row.job_id, attempt: row.attempt, workerId: row.worker_id, endpointId: row.endpoint_id };
}

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

  items(): CachedImage[] {
    return this.#all.all().map((row) => {
      const { kind, name, content_id, size_bytes, last_used_at } = itemRow.parse(row);
      return { kind, name, contentId: content_id, sizeBytes: size_bytes, lastUsedAt: last_used_at };
    });
  }

  save({ kind, name, contentId, sizeBytes, lastUsedAt }: CachedImage): void {
    this.#save.run(kind, name, contentId, sizeBytes, lastUsedAt);
  }

  remove({ kind, name }: Pick<CachedImage, "kind" | "name">): void {
    this.#remove.run(kind, name);
  }
}
