/** Live log lines, which the endpoint's object passes on to followers. */
import type { WorkerLogLine } from "../../../domain/logs/log-lines.ts";
import type { EndpointStub } from "../../../management/objects.ts";
import { ServiceError } from "../../../contract/errors.ts";

/** Buffer for a slow follower; one that exceeds it is disconnected and can resume. */
const LOG_FOLLOWER_BUFFER_BYTES = 2_000_000;

export class LiveLines {
  readonly #socket: WebSocket;
  #messages: string[] = [];
  #waitingLength = 0;
  #isOver = false;
  #wake: () => void = () => {};

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(String(data)));
    socket.addEventListener("close", () => this.end());
    socket.addEventListener("error", () => this.end());
    socket.accept();
  }

  /** From now on all lines of the endpoint come here. */
  static async open(object: EndpointStub, signal: AbortSignal): Promise<LiveLines> {
    const { webSocket } = await object.fetch("https://object/wake-ups?logs", {
      headers: { Upgrade: "websocket" },
    });
    if (!webSocket) {
      throw new ServiceError(
        "rate_limited",
        "Too many follow the logs of this endpoint already. Try again later.",
      );
    }
    const lines = new LiveLines(webSocket);
    signal.addEventListener("abort", () => lines.end());
    if (signal.aborted) lines.end();
    return lines;
  }

  /** The lines since the last call; waits for some until `untilAt`. Undefined when no more will come. */
  async next(untilAt: number): Promise<WorkerLogLine[] | undefined> {
    if (this.#messages.length === 0 && !this.#isOver) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const timer = setTimeout(resolve, Math.max(0, untilAt - Date.now()));
      await promise;
      clearTimeout(timer);
    }
    if (this.#isOver) return undefined;
    const messages = this.#messages;
    this.#messages = [];
    this.#waitingLength = 0;
    return messages.flatMap((message) => JSON.parse(message) as WorkerLogLine[]);
  }

  end(): void {
    this.#isOver = true;
    this.#messages = [];
    this.#socket.close(1000);
    this.#wake();
  }

  /** Disconnects a follower that reads too slowly; it can resume. */
  #receive(message: string): void {
    if (this.#isOver) return;
    this.#messages.push(message);
    this.#waitingLength += message.length;
    if (this.#waitingLength > LOG_FOLLOWER_BUFFER_BYTES) this.end();
    this.#wake();
  }
}
