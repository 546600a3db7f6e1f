/** What the jobs of an Endpoint object store, against its limit (domain/limits/endpoint-storage.ts); and what they leave in R2. */
import type { LimitedOperation } from "../../contract/rate-limits.ts";
import { resultKey } from "../../durable/stored-payload.ts";
import {
  findExceeded,
  isFullForChunks,
  jobsToRun,
  turnsUntilFull,
  type StorageUse,
} from "../../domain/limits/endpoint-storage.ts";
import { bytesOfVariable } from "../../domain/limits/gigabytes.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import { storageFull } from "../limits/request-limits.ts";
import type { RateLimited } from "../messages.ts";
import type { Claims } from "./claims.ts";
import { publicId, type QueueEntry } from "./job-store.ts";
import type { QueueLedger } from "./queue-ledger.ts";

/** How much storage the jobs of one endpoint may take, unless ENDPOINT_STORAGE_GB sets another limit. */
const ENDPOINT_STORAGE_DEFAULT_GB = 50;
/** R2 takes no more keys in one call. */
const DELETE_MAX_KEYS = 1_000;

export type JobStorageParts = {
  readonly sql: Pick<SqlStorage, "databaseSize">;
  readonly claims: Pick<Claims, "running">;
  readonly ledger: Pick<QueueLedger, "queued" | "storedBytes">;
  /** Requests that are no jobs yet. */
  readonly batches: { readonly storedBytes: number };
  /** ENDPOINT_STORAGE_GB. */
  readonly gigabytes: string | undefined;
};

export class JobStorage {
  readonly #parts: JobStorageParts;
  readonly #limitBytes: number;
  #databaseBytes = 0;
  /** Turns in which the size of the database is not read again: reading takes a noticeable part of a turn. */
  #turnsLeft = 0;

  constructor(parts: JobStorageParts) {
    this.#parts = parts;
    this.#limitBytes = bytesOfVariable(parts.gigabytes, ENDPOINT_STORAGE_DEFAULT_GB);
  }

  /** Refuses so many bytes more, if they are too many. */
  refuse(operation: LimitedOperation, sizeBytes: number): RateLimited | undefined {
    const exceeded = findExceeded(this.#use, sizeBytes, this.#limitBytes);
    return exceeded && storageFull(operation, exceeded);
  }

  /** How many of the queued jobs may be claimed. */
  get claimable(): number {
    const { queued } = this.#parts.ledger;
    return queued === 0 ? 0 : Math.min(queued, jobsToRun(this.#use, this.#limitBytes));
  }

  /** Whether no job may be claimed, however many workers are free. */
  get isHoldingBack(): boolean {
    return jobsToRun(this.#use, this.#limitBytes) === 0;
  }

  get isFullForChunks(): boolean {
    return isFullForChunks(this.#use, this.#limitBytes);
  }

  /** Bytes in R2. */
  get storedBytes(): number {
    return this.#parts.ledger.storedBytes + this.#parts.batches.storedBytes;
  }

  /** To be called once a turn: what it has written counts from the next one on. */
  endTurn(): void {
    if (this.#turnsLeft > 0) this.#turnsLeft -= 1;
  }

  get #use(): StorageUse {
    if (this.#turnsLeft === 0) {
      this.#databaseBytes = this.#parts.sql.databaseSize;
      this.#turnsLeft = turnsUntilFull(this.#databaseBytes, this.#limitBytes);
    }
    const runningJobs = this.#parts.claims.running.size;
    return { databaseBytes: this.#databaseBytes, storedBytes: this.storedBytes, runningJobs };
  }
}

/** Payloads in R2 that belong to no job any longer, until the end of the turn. */
export class OrphanedPayloads {
  readonly #bucket: R2Bucket;
  readonly #facts: Pick<EndpointFacts, "config">;
  readonly #keepAlive: (work: Promise<unknown>) => void;
  #keys: string[] = [];

  constructor(
    bucket: R2Bucket,
    facts: Pick<EndpointFacts, "config">,
    keepAlive: (work: Promise<unknown>) => void,
  ) {
    this.#bucket = bucket;
    this.#facts = facts;
    this.#keepAlive = keepAlive;
  }

  add(key: string): void {
    this.#keys.push(key);
  }

  /** The agent of a running job may have uploaded a result that it will never report. */
  addUploadOf(stored: QueueEntry): void {
    if (stored.job.state !== "running") return;
    this.#keys.push(resultKey(this.#facts.config?.endpointId ?? "", publicId(stored), stored.job.attempt));
  }

  /** Deletes them; under some keys nothing was ever stored. */
  delete(): void {
    const keys = this.#keys;
    this.#keys = [];
    for (let from = 0; from < keys.length; from += DELETE_MAX_KEYS) {
      this.#keepAlive(this.#bucket.delete(keys.slice(from, from + DELETE_MAX_KEYS)));
    }
  }
}
