/** Requests that come one after the other from several clients, and what becomes of each. */
import { setTimeout as delay } from "node:timers/promises";
import type { LoadBalancedClient } from "./load-balanced-client.ts";

/** Pause of a client between two requests: enough of them meet every change, and the machine has time for it. */
const PAUSE_MS = 50;

export type LoadedRequest = {
  /** On the clock of performance.now(). */
  readonly sentAt: number;
  readonly endedAt: number;
  /** 0: the connection broke. */
  readonly status: number;
  readonly body: string;
  readonly workerId: string;
};

export class LoadBalancedLoad implements AsyncDisposable {
  readonly requests: LoadedRequest[] = [];
  readonly #client: LoadBalancedClient;
  readonly #path: string;
  readonly #loops: readonly Promise<void>[];
  #isOver = false;
  #watchers: (() => void)[] = [];

  /** Each client sends its next request when it has the answer to the one before. */
  constructor(client: LoadBalancedClient, clients: number, path: string) {
    this.#client = client;
    this.#path = path;
    this.#loops = Array.from({ length: clients }, () => this.#loop());
  }

  get failed(): readonly LoadedRequest[] {
    return this.requests.filter(({ status }) => status !== 200);
  }

  /** Resolves when a request has been answered that was sent at the time or later. */
  async untilOneSince(time: number): Promise<LoadedRequest> {
    for (;;) {
      const found = this.requests.find(({ sentAt, status }) => sentAt >= time && status === 200);
      if (found) return found;
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #loop(): Promise<void> {
    while (!this.#isOver) {
      this.requests.push(await this.#one());
      for (const wake of this.#watchers.splice(0)) wake();
      // oxlint-disable-next-line edgerun/no-sleeps -- a client pauses between two requests
      await delay(PAUSE_MS);
    }
  }

  async #one(): Promise<LoadedRequest> {
    const sentAt = performance.now();
    try {
      const { statusCode: status, headers, body } = await this.#client.send(this.#path);
      const text = await body.text();
      const workerId = String(headers["x-runpod-worker-id"] ?? "");
      return { sentAt, endedAt: performance.now(), status, body: text, workerId };
    } catch (error) {
      return { sentAt, endedAt: performance.now(), status: 0, body: String(error), workerId: "" };
    }
  }
}
