/** `node:https` of a simulated host: calls to the edge, over the network of its world. */
import { EventEmitter } from "node:events";
import { Readable } from "node:stream";

type Options = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** The network of a world makes a connection for each call. */
export class Agent {}

export function request(base: URL, options: Options): SimulatedCall {
  return new SimulatedCall(base, options);
}

class SimulatedCall extends EventEmitter {
  readonly #url: string;
  readonly #options: Options;
  readonly #gone = new AbortController();
  #answer: SimulatedAnswer | undefined;
  #isOver = false;

  constructor(base: URL, options: Options) {
    super();
    this.#url = `${base.origin}${options.path}`;
    this.#options = options;
  }

  end(body?: string | Uint8Array<ArrayBuffer>): this {
    void this.#call(body ?? null);
    return this;
  }

  destroy(): this {
    if (this.#isOver) return this;
    this.#isOver = true;
    this.#gone.abort();
    this.#answer?.destroy();
    return this;
  }

  async #call(body: string | Uint8Array<ArrayBuffer> | null): Promise<void> {
    const { method, headers } = this.#options;
    try {
      const { signal } = this.#gone;
      const response = await fetch(this.#url, { method, headers, body, redirect: "manual", signal });
      if (this.#isOver) return;
      this.#answer = new SimulatedAnswer(response.status);
      this.emit("response", this.#answer);
      await this.#receive(response);
    } catch (error) {
      this.#fail(error);
    }
    this.#isOver = true;
  }

  async #receive(response: Response): Promise<void> {
    this.#answer?.push(Buffer.from(await response.arrayBuffer()));
    this.#answer?.push(null);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    const failure = error instanceof Error ? error : new Error(String(error));
    if (this.#answer) this.#answer.destroy(failure);
    else this.emit("error", failure);
  }
}

/** What code reads of an IncomingMessage. */
class SimulatedAnswer extends Readable {
  readonly statusCode: number;

  constructor(statusCode: number) {
    super({ read() {} });
    this.statusCode = statusCode;
  }
}
