/**
 * A receiver of webhooks, a real HTTP server. The path says how it answers: `/<answers>/<key>`, where answers
 * are separated by commas, one for each call, and the last goes on for ever. An answer is a status, or
 * `hang`, `reset`, `slow` and `slow-500` (after a while), `redirect` (to `/200/<key>-redirected`).
 *
 * `GET /received/<key>?count=n` answers with what came for the key, once that are n calls.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export type Received = {
  readonly at: number;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const SLOW_MS = 1_500;

export class WebhookReceiver {
  readonly #server: Server;
  readonly #received = new Map<string, Received[]>();
  readonly #watchers = new Set<() => void>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      // A caller that hangs up in the middle is part of some tests.
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(createServer());
    receiver.#server.listen(0, "0.0.0.0"); // so that 127.0.0.2 is another host of this machine
    await once(receiver.#server, "listening");
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What came for a key, as soon as that are `count` calls. */
  async received(key: string, count = 0): Promise<readonly Received[]> {
    for (;;) {
      const found = this.#received.get(key) ?? [];
      if (found.length >= count) return [...found];
      await new Promise<void>((wake) => this.#watchers.add(wake));
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const [, answers = "", key = ""] = url.pathname.split("/");
    if (answers === "received") {
      const found = await this.received(key, Number(url.searchParams.get("count")));
      response.end(JSON.stringify(found));
      return;
    }
    const calls = this.#received.get(key) ?? [];
    const at = Date.now();
    const body = (await buffer(request)).toString();
    const headers = request.headers as Record<string, string>;
    calls.push({ at, method: request.method ?? "", headers, body });
    this.#received.set(key, calls);
    for (const wake of this.#watchers) wake();
    this.#watchers.clear();
    const list = answers.split(",");
    await this.#send(response, list[calls.length - 1] ?? list.at(-1) ?? "200", key);
  }

  async #send(response: ServerResponse, answer: string, key: string): Promise<void> {
    switch (answer) {
      case "hang":
        return;
      case "reset":
        response.socket?.resetAndDestroy();
        return;
      case "slow":
      case "slow-500":
        response.statusCode = answer === "slow" ? 200 : 500;
        setTimeout(() => response.end("late"), SLOW_MS);
        return;
      case "redirect":
        response.writeHead(302, { location: `${this.url}/200/${key}-redirected` }).end();
        return;
      default:
        response.writeHead(Number(answer)).end("answered");
    }
  }
}
