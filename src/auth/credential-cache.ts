/**
 * Remembers for a short while, within one isolate, what a credential stands for, so that authentication
 * neither hashes nor reads D1 on the hot path. Bounded: the oldest answer is evicted. Rejections are cached apart,
 * so that a flood of wrong keys cannot push out the right ones, and by hash, since a wrong key may be long.
 */
import { BoundedMap } from "../domain/limits/bounded-map.ts";

/** How long an edge location caches that a credential is wrong. */
export const CREDENTIAL_REJECTION_CACHE_MS = 5_000;

export class CredentialCache<Answer> {
  readonly #accepted: ExpiringMap<Answer>;
  readonly #rejected: ExpiringMap<true>;

  constructor(limits: {
    readonly acceptedTtlMs: number;
    readonly rejectedTtlMs: number;
    readonly size: number;
    /** How many ordinary answers one is worth; 1 without it. */
    readonly weigh?: (answer: Answer) => number;
  }) {
    this.#accepted = new ExpiringMap(limits.acceptedTtlMs, limits.size, limits.weigh);
    this.#rejected = new ExpiringMap(limits.rejectedTtlMs, limits.size);
  }

  /** What an accepted credential stands for; nothing when it must be looked up. */
  recall(credential: string, now: number): Answer | undefined {
    return this.#accepted.get(credential, now);
  }

  isRejected(hash: string, now: number): boolean {
    return this.#rejected.get(hash, now) ?? false;
  }

  accept(credential: string, answer: Answer, now: number): void {
    this.#accepted.set(credential, answer, now);
  }

  reject(hash: string, now: number): void {
    this.#rejected.set(hash, true, now);
  }

  /** Has every credential looked up again that stands for such an answer. */
  forget(matches: (answer: Answer) => boolean): void {
    this.#accepted.deleteIf(matches);
  }
}

type Expiring<Value> = { readonly value: Value; readonly expiresAt: number };

class ExpiringMap<Value> {
  readonly #ttlMs: number;
  readonly #entries: BoundedMap<Expiring<Value>>;

  constructor(ttlMs: number, size: number, weigh: (value: Value) => number = () => 1) {
    this.#ttlMs = ttlMs;
    this.#entries = new BoundedMap(size, ({ value }) => weigh(value));
  }

  get(key: string, now: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (now < entry.expiresAt) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value, now: number): void {
    this.#entries.set(key, { value, expiresAt: now + this.#ttlMs });
  }

  deleteIf(matches: (value: Value) => boolean): void {
    this.#entries.deleteIf(({ value }) => matches(value));
  }
}
