/** Stands before an edge; a test says what becomes of the operations that go through it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** "cut" breaks the connection off, as a network that fails does. */
export type Fate = "pass" | "refuse" | "cut";

export class EdgeProxy implements AsyncDisposable {
  readonly #target: string;
  readonly #server: Server;
  readonly #fates = new Map<string, () => Fate | Promise<Fate>>();

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async open(target: string): Promise<EdgeProxy> {
    const proxy = new EdgeProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Asked for each request that holds this word, in place of what was said of the word before. */
  when(word: string, fate: () => Fate | Promise<Fate>): void {
    this.#fates.set(word, fate);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const [, fate] = [...this.#fates].find(([word]) => body.includes(word)) ?? [];
    const decided = (await fate?.()) ?? "pass";
    if (decided === "cut") return void request.socket.destroy();
    const rejection = { errors: [{ message: "not now", extensions: { code: "NOT_SUPPORTED" } }] };
    const answer = decided === "refuse" ? JSON.stringify(rejection) : await this.#pass(request, body);
    response.setHeader("Content-Type", "application/json").end(answer);
  }

  async #pass({ url, headers }: IncomingMessage, body: string): Promise<string> {
    const { authorization = "" } = headers;
    const passed = { "Content-Type": "application/json", Authorization: authorization };
    return await (await fetch(`${this.#target}${url}`, { method: "POST", headers: passed, body })).text();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
