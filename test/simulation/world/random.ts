/** Random numbers from a seed: the same seed makes the same choices. */

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    // Different starts for neighbouring seeds: the state is mixed before the first number is taken.
    this.#a = seed >>> 0;
    this.#b = Math.imul(seed ^ 0x9e37_79b9, 0x85eb_ca6b) >>> 0;
    this.#c = Math.imul(seed + 0x7f4a_7c15, 0xc2b2_ae35) >>> 0;
    for (let round = 0; round < 12; round += 1) this.#next();
  }

  /** A number from 0 up to, not including, 1. */
  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    if (values.length === 0) throw new Error("There is nothing to pick from.");
    return values[Math.floor(this.fraction() * values.length)] as Value;
  }

  /** The values in any order. */
  shuffled<Value>(values: readonly Value[]): Value[] {
    const keyed = values.map((value) => ({ value, key: this.fraction() }));
    return keyed.toSorted((one, other) => one.key - other.key).map(({ value }) => value);
  }

  /** Mostly small, sometimes large: the lengths of delays. */
  delay(typicalMs: number): number {
    return Math.round(typicalMs * -Math.log(1 - this.fraction()));
  }

  bytes(into: Uint8Array): void {
    for (let at = 0; at < into.length; at += 1) into[at] = this.#next() & 0xff;
  }

  /** Random numbers that are independent of those that are taken here later. */
  fork(): Random {
    return new Random(this.#next());
  }

  /** sfc32: small, fast, and passes the usual tests of randomness. */
  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) >>> 0;
    this.#c = (this.#c + sum) >>> 0;
    return sum;
  }
}
