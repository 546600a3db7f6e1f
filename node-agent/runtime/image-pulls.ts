/**
 * The pulls under way on this host.
 *
 * U1  Whoever wants the same image by the same login shares one pull.
 * U2  A pull that nobody waits for any more is called off.
 * U3  Progress is told at most once per interval, whatever the daemon says; what was said last is told at the end.
 */
import type { ImageRequest, PullOptions } from "./image-pull.ts";

type SharedOptions = Pick<PullOptions, "signal" | "onProgress">;

export type PullWork = (request: ImageRequest, options: SharedOptions) => Promise<void>;

type Waiter = { readonly onProgress: (detail: string) => void };

export class ImagePulls {
  readonly #work: PullWork;
  readonly #intervalMs: number;
  readonly #open = new Map<string, SharedPull>();

  /** `intervalMs`: least time between two tellings of progress. */
  constructor(work: PullWork, intervalMs: number) {
    this.#work = work;
    this.#intervalMs = intervalMs;
  }

  /** Resolves when the pull is over, and rejects as it does, or when this caller does not want it any more. */
  async pull(
    request: ImageRequest,
    onProgress: (detail: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const key = keyOf(request);
    const shared = this.#open.get(key) ?? this.#begin(key, request);
    const waiter = { onProgress };
    shared.join(waiter);
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await Promise.race([shared.over, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      if (shared.leave(waiter) && this.#open.get(key) === shared) this.#open.delete(key); // U2
    }
  }

  #begin(key: string, request: ImageRequest): SharedPull {
    const shared = new SharedPull((options) => this.#work(request, options), this.#intervalMs);
    this.#open.set(key, shared);
    const forget = (): void => {
      if (this.#open.get(key) === shared) this.#open.delete(key);
    };
    shared.over.then(forget, forget);
    return shared;
  }
}

class SharedPull {
  readonly over: Promise<void>;
  readonly #intervalMs: number;
  readonly #waiters = new Set<Waiter>();
  readonly #abort = new AbortController();
  #detail: string | null = null;
  #toldDetail: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(work: (options: SharedOptions) => Promise<void>, intervalMs: number) {
    this.#intervalMs = intervalMs;
    const onProgress = (detail: string): void => this.#note(detail);
    this.over = work({ signal: this.#abort.signal, onProgress }).finally(() => this.#end());
  }

  join(waiter: Waiter): void {
    this.#waiters.add(waiter);
    if (this.#toldDetail !== null) waiter.onProgress(this.#toldDetail);
  }

  /** True when nobody waits any more. */
  leave(waiter: Waiter): boolean {
    this.#waiters.delete(waiter);
    if (this.#waiters.size > 0) return false;
    this.#abort.abort();
    return true;
  }

  #note(detail: string): void {
    this.#detail = detail;
    if (this.#timer === null) this.#tell();
  }

  #tell(): void {
    this.#timer = null;
    if (this.#detail === null || this.#detail === this.#toldDetail) return;
    this.#toldDetail = this.#detail;
    for (const { onProgress } of this.#waiters) onProgress(this.#detail);
    this.#timer = setTimeout(() => this.#tell(), this.#intervalMs); // U3
  }

  #end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#tell();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

function keyOf({ imageName, registryAuth }: ImageRequest): string {
  return JSON.stringify([imageName, registryAuth?.username, registryAuth?.password]);
}
