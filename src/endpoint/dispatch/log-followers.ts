/** Sockets that follow the logs of one endpoint at once. */
export const LOG_FOLLOWERS_MAX = 32;
/**
 * Who follows the logs of an endpoint. A follower is a hibernatable socket, which stands open for as long as he
 * follows, so nothing is lost with memory. Lines pass through; none is kept.
 *
 * The agents are told a number, `follow`: 0 for nobody, or one that grows with each new follower, so that they
 * send what they have not handed over yet to him as well.
 */

type Follower = { readonly follow: number };

const TAG = "follow";

export class Followers {
  readonly #context: DurableObjectState;
  #follow = 0;

  constructor(context: DurableObjectState) {
    this.#context = context;
  }

  /** What agents are told. */
  get follow(): number {
    return this.#follow;
  }

  /** After a loss of memory, or when a socket has closed. */
  recount(): void {
    const open = this.#open().map((socket) => socket.deserializeAttachment() as Follower);
    this.#follow = open.length === 0 ? 0 : Math.max(this.#follow, ...open.map(({ follow }) => follow));
  }

  accept(now: number): Response {
    if (this.#open().length >= LOG_FOLLOWERS_MAX) return new Response(null, { status: 429 });
    const { 0: client, 1: server } = new WebSocketPair();
    this.#follow = Math.max(now, this.#follow + 1);
    this.#context.acceptWebSocket(server, [TAG]);
    server.serializeAttachment({ follow: this.#follow } satisfies Follower);
    return new Response(null, { status: 101, webSocket: client });
  }

  send(lines: string): void {
    for (const socket of this.#open()) {
      try {
        socket.send(lines);
      } catch {
        // He hung up first.
      }
    }
  }

  #open(): WebSocket[] {
    return this.#context.getWebSockets(TAG).filter(({ readyState }) => readyState === WebSocket.OPEN);
  }
}
