/** Bytes that come in spans and are read as one text. */

/** A span that is shorter is copied faster byte by byte than through a view of it. */
const VIEW_MIN_BYTES = 64;
const FIRST_BYTES = 256;

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

export class ByteBuffer {
  #bytes = new Uint8Array(FIRST_BYTES);
  #length = 0;

  /** Adds the bytes of `source` from `from` to `to`. */
  add(source: Uint8Array, from: number, to: number): void {
    const size = to - from;
    this.#reserve(size);
    if (size >= VIEW_MIN_BYTES) this.#bytes.set(source.subarray(from, to), this.#length);
    else for (let at = 0; at < size; at += 1) this.#bytes[this.#length + at] = source[from + at] ?? 0;
    this.#length += size;
  }

  /** Adds the digits of a whole number. */
  addNumber(value: number): void {
    const digits = String(value);
    this.#reserve(digits.length);
    for (let at = 0; at < digits.length; at += 1) this.#bytes[this.#length + at] = digits.charCodeAt(at);
    this.#length += digits.length;
  }

  /** All of it, which is UTF-8. */
  text(): string {
    return decoder.decode(this.#bytes.subarray(0, this.#length));
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** The text of all of it; then it is empty again. */
  take(): string {
    const text = this.text();
    this.#length = 0;
    return text;
  }

  #reserve(size: number): void {
    const needed = this.#length + size;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
