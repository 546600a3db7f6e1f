/** Hears from handlers that they were told to stop, and when. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export class StopListener {
  readonly #server: Server;
  readonly #stoppedAt = new Map<string, PromiseWithResolvers<number>>();

  private constructor() {
    this.#server = createServer((request, response) => {
      const query = new URL(request.url ?? "", "http://listener").searchParams;
      this.#of(query.get("job") ?? "").resolve(Number(query.get("at")));
      response.end();
    });
  }

  static async start(): Promise<StopListener> {
    const listener = new StopListener();
    await new Promise<void>((resolve) => listener.#server.listen(0, "127.0.0.1", resolve));
    return listener;
  }

  /** What a job's input names as `mock_stop_to`. */
  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/?`;
  }

  /** When the handler of this job was told, in milliseconds since the epoch. */
  stopped(jobId: string): Promise<number> {
    return this.#of(jobId).promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #of(jobId: string): PromiseWithResolvers<number> {
    const known = this.#stoppedAt.get(jobId) ?? Promise.withResolvers<number>();
    this.#stoppedAt.set(jobId, known);
    return known;
  }
}
