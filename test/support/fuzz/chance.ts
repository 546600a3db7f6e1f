/** A repeatable source of chance: the same seed gives the same choices. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    this.next(); // neighbouring seeds would begin alike
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  is(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Element>(list: readonly Element[]): Element {
    const element = list[this.below(list.length)];
    if (element === undefined) throw new Error("nothing to pick from");
    return element;
  }

  /** Some of a list, in its order. */
  some<Element>(list: readonly Element[], probability: number): Element[] {
    return list.filter(() => this.is(probability));
  }
}
