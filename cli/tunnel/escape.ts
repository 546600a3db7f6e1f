/** How a user ends a shell that hangs: Enter, `~`, `.`, as in ssh. `~~` is one `~`. */
const ESCAPE = "~".charCodeAt(0);
const END = ".".charCodeAt(0);
const LINE_ENDS: ReadonlySet<number> = new Set([10, 13]);

export type Typed = {
  /** What is to be sent. */
  readonly bytes: Uint8Array;
  /** The user ends the session. */
  readonly isEnd: boolean;
};

export class EscapeSequence {
  #isLineStart = true;
  #isEscaped = false;

  /** Takes what was typed; a `~` at the start of a line is kept back until the next key. */
  type(input: Uint8Array): Typed {
    const bytes: number[] = [];
    for (const byte of input) {
      if (this.#isEscaped && byte === END) return { bytes: Uint8Array.from(bytes), isEnd: true };
      bytes.push(...this.#take(byte));
    }
    return { bytes: Uint8Array.from(bytes), isEnd: false };
  }

  #take(byte: number): readonly number[] {
    const wasEscaped = this.#isEscaped;
    this.#isEscaped = !wasEscaped && this.#isLineStart && byte === ESCAPE;
    if (this.#isEscaped) return [];
    this.#isLineStart = LINE_ENDS.has(byte);
    return wasEscaped && byte !== ESCAPE ? [ESCAPE, byte] : [byte];
  }
}
