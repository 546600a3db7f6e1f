/** What a container prints, as Docker keeps it: pieces of lines, each with a stamp of its host's clock. */
import { place } from "../world/globals.ts";
import type { Machine, World } from "../world/world.ts";

export type PrintedLine = {
  /** Counted from 0 within its container. */
  readonly number: number;
  readonly text: string;
  readonly stream: "stdout" | "stderr";
  /** Whose handler printed it; null for none. */
  readonly jobId: string | null;
  /** It names its job itself, as the lines of SDKs do. */
  readonly namesJob: boolean;
  /** True time, ms of the history. */
  readonly at: number;
};

export type Printing = Partial<Pick<PrintedLine, "stream" | "jobId" | "namesJob">> & {
  /** False for a text without a line break, which only a program that ends leaves. */
  readonly isEnded?: boolean;
};

/** Docker breaks lines into pieces of this size. */
export const PIECE_BYTES = 16 * 1024;
const HEADER_BYTES = 8;
const SECOND_MS = 1_000;
/** Until what was printed, and that it has ended, is known to who reads it. */
const READ_MS = 1;
/** Share of the streams that end with their container, before its last lines. */
const CUT_STREAMS = 0.5;

type Piece = { readonly stamp: string; readonly frame: Buffer };
type Stream = { isBroken: boolean; wake: () => void };

export class PrintedOutput {
  /** Of its container: no other has it. */
  readonly name: string;
  readonly lines: PrintedLine[] = [];
  /** No agent may have all of its lines, nor get them any more. */
  isLost = false;
  /** It has had more than its host may pass on. */
  isFlooded = false;
  /** An agent has ended that may have read it: the next one does not know what was left out. */
  hasOutlivedAgent = false;
  readonly #world: World;
  readonly #clock: () => number;
  readonly #pieces: Piece[] = [];
  readonly #streams = new Set<Stream>();
  #isOver = false;
  #isRemoved = false;
  /** That of the agent which reads it. */
  #readingLife: number | undefined;
  #stampedMs = 0;
  #nanoseconds = 0;

  /** `clock`: of the host, epoch ms. */
  constructor(world: World, name: string, clock: () => number) {
    this.#world = world;
    this.name = name;
    this.#clock = clock;
  }

  print(
    message: string,
    { stream = "stdout", jobId = null, namesJob = false, isEnded = true }: Printing = {},
  ) {
    const number = this.lines.length;
    const marked = `<${this.name}.${number}> ${message}`;
    const text = namesJob ? JSON.stringify({ requestId: jobId, level: "INFO", message: marked }) : marked;
    this.lines.push({ number, text, stream, jobId, namesJob, at: this.#world.elapsedMs });
    const bytes = Buffer.from(isEnded ? `${text}\n` : text);
    for (let start = 0; start < bytes.byteLength; start += PIECE_BYTES)
      this.#add(stream, bytes.subarray(start, start + PIECE_BYTES));
    this.#wakeAll();
  }

  readBy(life: number | undefined): void {
    this.#readingLife = life;
  }

  /** Its container is removed, by an agent that may never have read it. */
  removedBy(life: number | undefined): void {
    this.#isRemoved = true;
    this.isLost ||= this.#readingLife !== life;
  }

  /** Lines of which no container is left are only in the memory of the agent until the edge has them. */
  agentKilled(): void {
    this.isLost ||= this.#isRemoved;
    this.hasOutlivedAgent = true;
  }

  /** Its container has ended. */
  end(): void {
    this.#isOver = true;
    this.#wakeAll();
  }

  /** The daemon does not answer any more. */
  breakStreams(): void {
    for (const stream of this.#streams) stream.isBroken = true;
    this.#wakeAll();
  }

  /** The last texts, for one who asks what it printed before its end. */
  tail(count: number): Buffer {
    const kept = this.#pieces.slice(-count).map(({ frame }) => withoutStamp(frame));
    return Buffer.concat(kept);
  }

  /** All pieces with the stamp or a later one, and those that come until the container ends. */
  async *follow(since: string, signal: AbortSignal): AsyncGenerator<Buffer> {
    const { machine } = place() as { machine: Machine };
    const wasOver = this.#isOver;
    const stream: Stream = { isBroken: false, wake: () => {} };
    this.#streams.add(stream);
    const leave = (): void => stream.wake();
    signal.addEventListener("abort", leave, { once: true });
    try {
      for (let next = 0; ;) {
        if (signal.aborted || stream.isBroken) throw new Error("The stream of the daemon broke off.");
        const isCut = this.#isOver && !wasOver && this.#world.random.chance(CUT_STREAMS);
        const pieces = isCut ? [] : this.#pieces.slice(next).filter(({ stamp }) => stamp >= since);
        next = this.#pieces.length;
        if (pieces.length > 0) yield* this.#chunks(Buffer.concat(pieces.map(({ frame }) => frame)));
        else if (this.#isOver) return;
        else await this.#awaitMore(stream, machine);
      }
    } finally {
      this.#streams.delete(stream);
      signal.removeEventListener("abort", leave);
    }
  }

  /** What was written at once does not always arrive at once. */
  *#chunks(bytes: Buffer): Generator<Buffer> {
    const { random } = this.#world;
    const middle = random.chance(0.2) ? random.whole(0, bytes.byteLength) : 0;
    if (middle > 0) yield bytes.subarray(0, middle);
    yield bytes.subarray(middle);
  }

  #awaitMore(stream: Stream, machine: Machine): Promise<void> {
    const { life } = machine;
    return new Promise((resolve) => {
      stream.wake = (): void => {
        stream.wake = (): void => {};
        if (machine.life === life) this.#world.schedule(machine, READ_MS, "output", resolve);
      };
    });
  }

  #wakeAll(): void {
    for (const { wake } of this.#streams) wake();
  }

  #add(stream: PrintedLine["stream"], text: Uint8Array): void {
    const stamp = this.#stamp();
    const frame = Buffer.concat([Buffer.alloc(HEADER_BYTES), Buffer.from(`${stamp} `), text]);
    frame[0] = stream === "stderr" ? 2 : 1;
    frame.writeUInt32BE(frame.byteLength - HEADER_BYTES, HEADER_BYTES / 2);
    this.#pieces.push({ stamp, frame });
  }

  /** Some have the same one, or differ in less than a microsecond. */
  #stamp(): string {
    const { random } = this.#world;
    const now = Math.floor(this.#clock());
    const before = now === this.#stampedMs ? this.#nanoseconds : 0;
    this.#nanoseconds = Math.min(before + random.whole(0, 600), 999_999);
    this.#stampedMs = now;
    const seconds = new Date(now).toISOString().slice(0, -1);
    return `${seconds}${String(this.#nanoseconds).padStart(6, "0")}Z`;
  }
}

/** The stamp that Docker's `since` means: seconds with nine decimal places. */
export function stampOf(since: string): string {
  const [seconds = "", nanoseconds = ""] = since.split(".");
  return `${new Date(Number(seconds) * SECOND_MS).toISOString().slice(0, 19)}.${nanoseconds.padEnd(9, "0")}Z`;
}

function withoutStamp(frame: Buffer): Buffer {
  const text = frame.subarray(frame.indexOf(" ", HEADER_BYTES) + 1);
  const header = Buffer.from(frame.subarray(0, HEADER_BYTES));
  header.writeUInt32BE(text.byteLength, HEADER_BYTES / 2);
  return Buffer.concat([header, text]);
}
