/** A map of bounded weight: the oldest entries are removed as soon as all together weigh more. */
export class BoundedMap<Value> {
  readonly #weightMax: number;
  readonly #weigh: (value: Value) => number;
  readonly #entries = new Map<string, { readonly value: Value; readonly weight: number }>();
  #weight = 0;

  /** Without `weigh`, every entry weighs 1. */
  constructor(weightMax: number, weigh: (value: Value) => number = () => 1) {
    this.#weightMax = weightMax;
    this.#weigh = weigh;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: string, value: Value): void {
    this.delete(key);
    const weight = this.#weigh(value);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#weightMax) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }

  deleteIf(predicate: (value: Value) => boolean): void {
    for (const [key, { value }] of this.#entries) {
      if (predicate(value)) this.delete(key);
    }
  }
}
