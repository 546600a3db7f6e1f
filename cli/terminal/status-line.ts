import type { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
/** Empties the line of the cursor. */
export const CLEAR = "\r\u001B[K";
const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";

/**
 * The last line of a terminal, animated while something takes time. The spinner of the prompt library does not fit: it
 * reads the keyboard, and ends the process on Ctrl+C before anything is cleaned up.
 */
export class StatusLine {
  readonly #stream: Writable;
  readonly #messages = new Map<object, string>();
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** The latest of several messages is shown; a change of it with the next frame. */
  show(owner: object, message: string): void {
    const isNew = !this.#messages.delete(owner);
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
    this.#stream.write(CLEAR + SHOW_CURSOR);
  }

  #clear(): void {
    this.#stream.write(CLEAR);
  }

  #draw(): void {
    const text = [...this.#messages.values()].at(-1);
    if (text === undefined) return;
    this.#frame = (this.#frame + 1) % FRAMES.length;
    this.#stream.write(`${CLEAR}${truncate(`${FRAMES[this.#frame]} ${text}`, this.#columns())}`);
  }

  #columns(): number {
    // Some terminals report a size of 0.
    return ("columns" in this.#stream && Number(this.#stream.columns)) || 80;
  }
}

/** A line that wraps cannot be cleared. */
function truncate(text: string, columns: number): string {
  const plain = stripVTControlCharacters(text);
  return plain.length < columns ? text : `${plain.slice(0, columns - 2)}…`;
}
