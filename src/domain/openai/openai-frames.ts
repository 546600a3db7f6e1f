/**
 * A streamed answer as a worker yields it, and as its client gets it.
 *
 * F1  Text is passed on as it is: it is server-sent events already, in whatever pieces.
 * F2  Any other value is a separate event; the elements of a list are values one by one.
 * F3  What is added stands between events, never inside one.
 */
import { elementsOf } from "../../json/raw-json.ts";
import type { OpenaiErrorBody } from "../../contract/openai.ts";

/** Each list in a list is read once more: what is nested deeper is a value. */
const LISTS_MAX = 3;

const DONE = "data: [DONE]\n\n";
const DONE_AT_END = /(?:^|[\r\n])data: ?\[DONE\]\s*$/;
/** What is remembered: the beginning of each event, and the end of the whole answer. */
const HEAD_CHARACTERS = 8;
const TAIL_CHARACTERS = 64;

export class OpenaiFrames {
  #tail = "";
  #lineHead = "";
  /** Events without a name, as all of OpenAI's older routes have them; those end with a word of their own. */
  #hasData = false;
  #hasNames = false;

  /** What a chunk is on the wire. `output` is JSON text, and remains so. */
  encode(output: string, listsAround = 0): string {
    if (output.startsWith('"')) return this.#track(JSON.parse(output) as string); // F1
    if (output.startsWith("[") && listsAround < LISTS_MAX) {
      let text = "";
      for (const element of elementsOf(output)) text += this.encode(element, listsAround + 1); // F2
      return text;
    }
    return output === "null" ? "" : this.#frame(output);
  }

  /** The worker has reported that the answer is complete. */
  get isDone(): boolean {
    return DONE_AT_END.test(this.#tail);
  }

  /** What ends the stream of a job that was completed. */
  end(): string {
    this.#readLine();
    return this.isDone || this.#hasNames || !this.#hasData ? "" : this.#gap() + DONE; // F3
  }

  /** What ends the stream of any other job. */
  fail(error: OpenaiErrorBody): string {
    return this.#frame(JSON.stringify(error));
  }

  #frame(json: string): string {
    return this.#track(`${this.#gap()}data: ${onOneLine(json)}\n\n`); // F3
  }

  /** What is missing for the event before to be over. */
  #gap(): string {
    if (this.#tail === "" || /\r?\n\r?\n$/.test(this.#tail)) return "";
    return this.#tail.endsWith("\n") ? "\n" : "\n\n";
  }

  #track(text: string): string {
    this.#tail = (this.#tail + text).slice(-TAIL_CHARACTERS);
    const [first = "", ...lines] = text.split("\n");
    this.#lineHead = (this.#lineHead + first).slice(0, HEAD_CHARACTERS);
    for (const line of lines) {
      this.#readLine();
      this.#lineHead = line.slice(0, HEAD_CHARACTERS);
    }
    return text;
  }

  #readLine(): void {
    this.#hasData ||= this.#lineHead.startsWith("data:");
    this.#hasNames ||= this.#lineHead.startsWith("event:");
  }
}

/** JSON as the data of server-sent events. */

/** Line breaks end the data of an event. In JSON text they are space, since strings have them escaped. */
export function onOneLine(json: string): string {
  return json.replace(/[\n\r]/g, " ");
}

/** The same of bytes. */
export function bytesOnOneLine(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte));
}
