/** What the jobs of an Endpoint object take, against what they may; the rules are in domain/endpoint-storage.ts. */
import type { LimitedOperation } from "../../contract/rate-limits.ts";
import {
  isFullForChunks,
  jobsToRun,
  findExceeded,
  turnsUntilFull,
  type StorageUse,
} from "../../domain/limits/endpoint-storage.ts";
import { bytesOfVariable } from "../../domain/limits/gigabytes.ts";
import type { BatchIndex } from "../batches/batch-index.ts";
import type { RateLimited } from "../messages.ts";
import type { QueueLedger } from "./queue-ledger.ts";
import { storageFull } from "../limits/request-limits.ts";

/** What jobs of one endpoint may take unless ENDPOINT_STORAGE_GB says otherwise. */
const ENDPOINT_STORAGE_DEFAULT_GB = 50;

export type JobStorageParts = {
  readonly sql: Pick<SqlStorage, "databaseSize">;
  readonly ledger: QueueLedger;
  readonly batchIndex: BatchIndex;
  /** ENDPOINT_STORAGE_GB. */
  readonly gigabytes: string | undefined;
};

export class JobStorage {
  readonly #parts: JobStorageParts;
  readonly #limitBytes: number;
  /** Size of the database, and the turns in which it is not asked for again: that takes a while of each turn. */
  #databaseBytes = 0;
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

  /** How many of the queued jobs may be handed out. */
  get claimable(): number {
    const { queued } = this.#parts.ledger;
    return queued === 0 ? 0 : Math.min(queued, jobsToRun(this.#use, this.#limitBytes));
  }

  /** Whether no job may be handed out, however many workers are free. */
  get isHoldingBack(): boolean {
    return jobsToRun(this.#use, this.#limitBytes) === 0;
  }

  get isFullForChunks(): boolean {
    return isFullForChunks(this.#use, this.#limitBytes);
  }

  /** Bytes in R2. */
  get storedBytes(): number {
    return this.#parts.ledger.storedBytes + this.#parts.batchIndex.storedBytes;
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
    const runningJobs = this.#parts.ledger.running.size;
    return { databaseBytes: this.#databaseBytes, storedBytes: this.storedBytes, runningJobs };
  }
}
