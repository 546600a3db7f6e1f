/** A TCP proxy that counts what clients send through it. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export class CountingProxy implements AsyncDisposable {
  readonly #server;
  readonly #sockets = new Set<Socket>();
  #sentBytes = 0;
  #watch: { readonly bytes: number; readonly reached: () => void } | undefined;

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        // A killed process resets its connections.
        socket.on("error", () => undefined).on("close", () => this.#sockets.delete(socket));
      }
      client.on("data", (chunk) => this.#count(chunk.length));
      client.pipe(upstream).pipe(client);
    });
  }

  static async open(targetUrl: string): Promise<CountingProxy> {
    const proxy = new CountingProxy(new URL(targetUrl));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Bytes that clients have sent since this was asked last. */
  takeCount(): number {
    const count = this.#sentBytes;
    this.#sentBytes = 0;
    return count;
  }

  /** Resolves when this many bytes were sent since the count was taken. */
  async sent(bytes: number): Promise<void> {
    if (this.#sentBytes >= bytes) return;
    await new Promise<void>((reached) => (this.#watch = { bytes, reached }));
  }

  #count(bytes: number): void {
    this.#sentBytes += bytes;
    if (this.#watch && this.#sentBytes >= this.#watch.bytes) this.#watch.reached();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}
