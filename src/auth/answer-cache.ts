/**
 * Remembers for a short while, within one isolate, what a credential stands for, so that authentication
 * neither hashes nor asks D1 on the hot path. Bounded: the oldest answer makes room. Refusals are kept apart,
 * so that a flood of wrong keys cannot push out the right ones, and by hash, since a wrong key may be long.
 */
export class AnswerCache<Answer> {
  readonly #accepted: ExpiringMap<Answer>;
  readonly #refused: ExpiringMap<true>;

  constructor(limits: {
    readonly acceptedLifeMs: number;
    readonly refusedLifeMs: number;
    readonly size: number;
  }) {
    this.#accepted = new ExpiringMap(limits.acceptedLifeMs, limits.size);
    this.#refused = new ExpiringMap(limits.refusedLifeMs, limits.size);
  }

  /** What an accepted credential stands for; nothing when it must be looked up. */
  recall(credential: string, now: number): Answer | undefined {
    return this.#accepted.get(credential, now);
  }

  isRefused(hash: string, now: number): boolean {
    return this.#refused.get(hash, now) ?? false;
  }

  accept(credential: string, answer: Answer, now: number): void {
    this.#accepted.set(credential, answer, now);
  }

  refuse(hash: string, now: number): void {
    this.#refused.set(hash, true, now);
  }

  /** Has every credential looked up again that stands for such an answer. */
  forget(isMeant: (answer: Answer) => boolean): void {
    this.#accepted.deleteIf(isMeant);
  }
}

class ExpiringMap<Value> {
  readonly #lifeMs: number;
  readonly #size: number;
  readonly #entries = new Map<string, { readonly value: Value; readonly expiresAt: number }>();

  constructor(lifeMs: number, size: number) {
    this.#lifeMs = lifeMs;
    this.#size = size;
  }

  get(key: string, now: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (now < entry.expiresAt) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value, now: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAt: now + this.#lifeMs });
    if (this.#entries.size <= this.#size) return;
    const oldest = this.#entries.keys().next();
    if (!oldest.done) this.#entries.delete(oldest.value);
  }

  deleteIf(isMeant: (value: Value) => boolean): void {
    for (const [key, { value }] of this.#entries) {
      if (isMeant(value)) this.#entries.delete(key);
    }
  }
}
