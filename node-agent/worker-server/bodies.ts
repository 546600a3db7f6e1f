import type { IncomingMessage } from "node:http";

/**
 * The memory that bodies of workers may take together. A body is read once its whole size is reserved; until then its
 * sender waits, because the agent does not read from its connection.
 *
 * B1  Bodies of one job are read one after the other, in the order in which they came.
 * B2  One worker holds no more than its share, so that it cannot keep the others waiting.
 * B3  A body that waits for the budget is not overtaken: a large one gets its turn between small ones.
 */

export type BodyOwner = { readonly workerId: string; readonly jobId: string };

/** Gives the reserved bytes back. */
export type Reservation = Disposable;

type BodyWaiter = BodyOwner & {
  readonly bytes: number;
  readonly admit: (reservation: Reservation) => void;
};

export class BodyBudget {
  readonly #totalBytes: number;
  readonly #shareBytes: number;
  readonly #waiting = new Set<BodyWaiter>();
  readonly #busyJobs = new Set<string>();
  readonly #bytesOf = new Map<string, number>();
  #reservedBytes = 0;

  /** `shareBytes`: what one worker may hold, and the largest body. */
  constructor(totalBytes: number, shareBytes: number) {
    this.#totalBytes = totalBytes;
    this.#shareBytes = shareBytes;
  }

  /** Resolves when `bytes` are reserved; undefined when the signal ended the wait. Most bodies need not wait. */
  reserve(owner: BodyOwner, bytes: number, gone: () => AbortSignal): Promise<Reservation | undefined> {
    return new Promise((resolve) => {
      const waiting: BodyWaiter = { ...owner, bytes: Math.min(bytes, this.#shareBytes), admit: resolve };
      this.#waiting.add(waiting);
      this.#admitWaiting();
      if (!this.#waiting.has(waiting)) return;
      const leave = (): void => {
        if (!this.#waiting.delete(waiting)) return;
        resolve(undefined);
        this.#admitWaiting();
      };
      gone().addEventListener("abort", leave, { once: true });
    });
  }

  #admitWaiting(): void {
    const aheadOfJob = new Set<string>();
    for (const waiting of this.#waiting) {
      const job = jobOf(waiting);
      const isFirst = !this.#busyJobs.has(job) && !aheadOfJob.has(job); // B1
      const workerBytes = this.#bytesOf.get(waiting.workerId) ?? 0;
      if (isFirst && workerBytes + waiting.bytes <= this.#shareBytes) {
        if (this.#reservedBytes + waiting.bytes > this.#totalBytes) return; // B3
        this.#admit(waiting);
      } else aheadOfJob.add(job); // B2
    }
  }

  #admit(waiting: BodyWaiter): void {
    this.#waiting.delete(waiting);
    this.#busyJobs.add(jobOf(waiting));
    this.#count(waiting.workerId, waiting.bytes);
    let isReserved = true;
    waiting.admit({
      [Symbol.dispose]: () => {
        if (!isReserved) return;
        isReserved = false;
        this.#busyJobs.delete(jobOf(waiting));
        this.#count(waiting.workerId, -waiting.bytes);
        this.#admitWaiting();
      },
    });
  }

  #count(workerId: string, bytes: number): void {
    const workerBytes = (this.#bytesOf.get(workerId) ?? 0) + bytes;
    if (workerBytes === 0) this.#bytesOf.delete(workerId);
    else this.#bytesOf.set(workerId, workerBytes);
    this.#reservedBytes += bytes;
  }
}

function jobOf({ workerId, jobId }: BodyOwner): string {
  return `${workerId}/${jobId}`;
}

/** A request body. Above the limit only its start is kept, but its size is still known. */
export type ReceivedBody = { readonly bytes: Buffer; readonly sizeBytes: number };

/** What is kept of a body above the limit: enough to distinguish a progress value from a result. */
const START_BYTES = 1_024;

/** The announced size of a body in bytes; null when the body itself marks its end. */
export function announcedBytes(request: IncomingMessage): number | null {
  const length = request.headers["content-length"];
  return length === undefined ? null : Number(length);
}

/** Reads a body to its end; undefined when the sender vanished before. */
export function readBody(request: IncomingMessage, limitBytes: number): Promise<ReceivedBody | undefined> {
  const keepBytes = (announcedBytes(request) ?? 0) > limitBytes ? START_BYTES : limitBytes;
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  return new Promise((resolve) => {
    const vanish = (): void => resolve(undefined);
    if (request.destroyed) return vanish();
    request.on("data", (chunk: Buffer) => {
      if (sizeBytes < keepBytes) chunks.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes > limitBytes) chunks.splice(1);
    });
    request.once("end", () => resolve({ bytes: Buffer.concat(chunks), sizeBytes }));
    request.once("error", vanish).once("close", vanish); // after the end they mean nothing
  });
}
