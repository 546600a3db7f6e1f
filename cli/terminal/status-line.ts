import type { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
/** More messages than this do not fit in small terminals. */
const ROWS_MAX = 8;
/** Empties the line of the cursor. */
export const CLEAR = "\r\u001B[K";
const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";

/**
 * The last lines of a terminal, animated while something takes time: one for each message. The spinner of the prompt library does not fit: it
 * reads the keyboard, and ends the process on Ctrl+C before anything is cleaned up.
 */
export class StatusLine {
  readonly #stream: Writable;
  readonly #messages = new Map<object, string>();
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;
  /** How many are drawn now. */
  #rows = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** A new message is drawn at once, below the others; a change of it with the next frame. */
  show(owner: object, message: string): void {
    const isNew = !this.#messages.has(owner);
    this.#messages.set(owner, message);
    if (this.#timer === undefined) {
      this.#stream.write(HIDE_CURSOR);
      this.#timer = setInterval(() => this.#draw(), FRAME_MS).unref();
    }
    if (isNew) this.#draw();
  }

  hide(owner: object): void {
    if (!this.#messages.delete(owner)) return;
    this.#clear();
    if (this.#messages.size === 0) this.end();
  }

  /** Clears the line while something else is written to the same terminal. */
  around(write: () => void): void {
    if (this.#timer === undefined) return write();
    this.#clear();
    write();
    this.#draw();
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#messages.clear();
    this.#clear();
    this.#stream.write(SHOW_CURSOR);
  }

  #clear(): void {
    this.#stream.write(this.#rows > 1 ? clearRows(this.#rows) : CLEAR);
    this.#rows = 0;
  }

  #draw(): void {
    const messages = [...this.#messages.values()].slice(-ROWS_MAX);
    this.#clear();
    if (messages.length === 0) return;
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const rows = messages.map((text) => truncate(`${FRAMES[this.#frame]} ${text}`, this.#columns()));
    this.#stream.write(rows.join("\n"));
    this.#rows = rows.length;
  }

  #columns(): number {
    // Some terminals report a size of 0.
    return ("columns" in this.#stream && Number(this.#stream.columns)) || 80;
  }
}

/** From the last of these rows. */
function clearRows(rows: number): string {
  return `\r\u001B[${rows - 1}A\u001B[J`;
}

/** A line that wraps cannot be cleared. */
function truncate(text: string, columns: number): string {
  const plain = stripVTControlCharacters(text);
  return plain.length < columns ? text : `${plain.slice(0, columns - 2)}…`;
}
