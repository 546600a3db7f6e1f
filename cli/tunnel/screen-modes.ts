/** Modes of a terminal that programs in a container turn on and, if they are cut off, do not turn off again. */
const ESC = "\u001B";
const SCREEN_ON = `${ESC}[?1049h`;
const SCREEN_OFF = `${ESC}[?1049l`;
const PLAIN = ["?1000l", "?1002l", "?1003l", "?1006l", "?1004l", "?2004l", "?1l", "?25h", "0m"]
  .map((mode) => `${ESC}[${mode}`)
  .join("");

export class ScreenModes {
  #isOtherScreen = false;
  #tail = "";

  /** Output of the container, as it comes. */
  see(bytes: Uint8Array): void {
    const seen = this.#tail + Buffer.from(bytes).toString("latin1");
    const [on, off] = [seen.lastIndexOf(SCREEN_ON), seen.lastIndexOf(SCREEN_OFF)];
    if (on !== off) this.#isOtherScreen = on > off;
    this.#tail = seen.slice(1 - SCREEN_ON.length);
  }

  /** What turns them off. */
  get reset(): string {
    return (this.#isOtherScreen ? SCREEN_OFF : "") + PLAIN;
  }
}
