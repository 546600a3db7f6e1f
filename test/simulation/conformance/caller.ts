/** What callers of objects see. */
import { type ClientEnd, passed, type Stub } from "./subject.ts";

const POLL_MS = 20;

/** Resolves with the notes of an object once there are so many. */
export async function noted(stub: () => Stub, count: number): Promise<unknown[]> {
  for (;;) {
    const notes = (await stub().act("notes")) as unknown[];
    if (notes.length >= count) return notes;
    await passed(POLL_MS);
  }
}

const SEEN = ["name", "message", "code", "remote", "retryable", "overloaded", "durableObjectReset"];

/** The answer of a call, or all that its caller gets of an error. */
export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return { answer: await call };
  } catch (error) {
    const members = SEEN.map((name): [string, unknown] => [name, Reflect.get(error as Error, name)]);
    return Object.fromEntries(members.filter(([, value]) => value !== undefined));
  }
}

/** Of an object that was reset for the cases. */
export const RESET = { name: "Error", message: "planted", durableObjectReset: true };

const ABNORMAL = 1006;

/** A client's connection to an object, and all that has come. */
export class Connection {
  readonly #end: ClientEnd;
  readonly #events: unknown[] = [];

  private constructor(end: ClientEnd) {
    this.#end = end;
    end.addEventListener("message", ({ data }) => void this.#events.push(data));
    end.addEventListener(
      "close",
      ({ code, reason }) => void this.#events.push(code === ABNORMAL ? code : [code, reason]),
    );
    end.accept();
  }

  static async open(stub: Stub): Promise<Connection> {
    const { webSocket } = await stub.fetch("https://subject.test/", { headers: { Upgrade: "websocket" } });
    if (!webSocket) throw new Error("There is no WebSocket.");
    return new Connection(webSocket);
  }

  send(message: string): void {
    this.#end.send(message);
  }

  close(code: number, reason: string): void {
    this.#end.close(code, reason);
  }

  /** Resolves with what has come once there is so much. */
  async events(count: number): Promise<unknown[]> {
    while (this.#events.length < count) await passed(POLL_MS);
    return this.#events;
  }
}
