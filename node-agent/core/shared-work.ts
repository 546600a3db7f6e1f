/**
 * Work under way on this host that several workers may wait for: pulls of images, downloads of an app's files.
 *
 * U1  Callers with the same request share one piece of work.
 * U2  Work without a waiting caller is aborted.
 * U3  Progress is reported at most once per interval, and the latest one at the end.
 */

/** Minimum interval between two progress messages: each costs a row for each worker that waits. */
export const PULL_PROGRESS_MS = 5_000;

export type SharedOptions = {
  /** Aborts the work. */
  readonly signal: AbortSignal;
  readonly onProgress: (detail: string) => void;
};

export type SharedWorkOptions<Request> = {
  /** Requests of the same key want the same. */
  readonly keyOf: (request: Request) => string;
  readonly work: (request: Request, options: SharedOptions) => Promise<void>;
  /** Minimum time between two reports of progress. */
  readonly intervalMs: number;
};

type Waiter = { readonly onProgress: (detail: string) => void };

export class SharedWork<Request> {
  readonly #options: SharedWorkOptions<Request>;
  readonly #open = new Map<string, OpenWork>();

  constructor(options: SharedWorkOptions<Request>) {
    this.#options = options;
  }

  /** Settles like the work; rejects when the signal of this caller is aborted. */
  async share(request: Request, onProgress: (detail: string) => void, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const key = this.#options.keyOf(request);
    const open = this.#open.get(key) ?? this.#begin(key, request);
    const waiter = { onProgress };
    open.join(waiter);
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await Promise.race([open.over, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      if (open.leave(waiter) && this.#open.get(key) === open) this.#open.delete(key); // U2
    }
  }

  #begin(key: string, request: Request): OpenWork {
    const { work, intervalMs } = this.#options;
    const open = new OpenWork((options) => work(request, options), intervalMs);
    this.#open.set(key, open);
    const forget = (): void => {
      if (this.#open.get(key) === open) this.#open.delete(key);
    };
    open.over.then(forget, forget);
    return open;
  }
}

class OpenWork {
  readonly over: Promise<void>;
  readonly #intervalMs: number;
  readonly #waiters = new Set<Waiter>();
  readonly #abort = new AbortController();
  #detail: string | null = null;
  #emittedDetail: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(work: (options: SharedOptions) => Promise<void>, intervalMs: number) {
    this.#intervalMs = intervalMs;
    const onProgress = (detail: string): void => this.#update(detail);
    this.over = work({ signal: this.#abort.signal, onProgress }).finally(() => this.#end());
  }

  join(waiter: Waiter): void {
    this.#waiters.add(waiter);
    if (this.#emittedDetail !== null) waiter.onProgress(this.#emittedDetail);
  }

  /** True when no caller waits any longer. */
  leave(waiter: Waiter): boolean {
    this.#waiters.delete(waiter);
    if (this.#waiters.size > 0) return false;
    this.#abort.abort();
    return true;
  }

  #update(detail: string): void {
    this.#detail = detail;
    if (this.#timer === null) this.#emit();
  }

  #emit(): void {
    this.#timer = null;
    if (this.#detail === null || this.#detail === this.#emittedDetail) return;
    this.#emittedDetail = this.#detail;
    for (const { onProgress } of this.#waiters) onProgress(this.#detail);
    this.#timer = setTimeout(() => this.#emit(), this.#intervalMs); // U3
  }

  #end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#emit();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
