/**
 * Remembers for a short while, within one isolate, what a credential stands for, so that authentication
 * neither hashes nor asks D1 on the hot path. Bounded: the oldest answer makes room. Refusals are kept apart,
 * so that a flood of wrong keys cannot push out the right ones, and by hash, since a wrong key may be long.
 */
import { BoundedMap } from "../domain/bounded-map.ts";

export class AnswerCache<Answer> {
  readonly #accepted: ExpiringMap<Answer>;
  readonly #refused: ExpiringMap<true>;

  constructor(limits: {
    readonly acceptedLifeMs: number;
    readonly refusedLifeMs: number;
    readonly size: number;
    /** How many ordinary answers one is worth; 1 without it. */
    readonly weigh?: (answer: Answer) => number;
  }) {
    this.#accepted = new ExpiringMap(limits.acceptedLifeMs, limits.size, limits.weigh);
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

type Expiring<Value> = { readonly value: Value; readonly expiresAt: number };

class ExpiringMap<Value> {
  readonly #lifeMs: number;
  readonly #entries: BoundedMap<Expiring<Value>>;

  constructor(lifeMs: number, size: number, weigh: (value: Value) => number = () => 1) {
    this.#lifeMs = lifeMs;
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
    this.#entries.set(key, { value, expiresAt: now + this.#lifeMs });
  }

  deleteIf(isMeant: (value: Value) => boolean): void {
    this.#entries.deleteIf(({ value }) => isMeant(value));
  }
}
