/** Keeps secrets out of lines. */

/** A shorter value would blot out what is no secret. */
const VALUE_MIN_LENGTH = 8;
const MASK = "[secret]";

export class Masks {
  /** The longest first, since one may hold another. */
  #values: readonly string[] = [];

  /** Values that the worker knows from now on; those of before stay masked, for it may still print them. */
  add(values: readonly string[]): void {
    const lines = values.flatMap((value) => value.split(/\r?\n/));
    const all = new Set([...this.#values, ...lines.filter((line) => line.length >= VALUE_MIN_LENGTH)]);
    this.#values = [...all].toSorted((one, other) => other.length - one.length);
  }

  apply(text: string): string {
    let masked = text;
    for (const value of this.#values) {
      if (masked.includes(value)) masked = masked.replaceAll(value, MASK);
    }
    return masked;
  }
}
