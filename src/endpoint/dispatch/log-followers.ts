/** Sockets that follow the logs of one endpoint at once. */
export const LOG_FOLLOWERS_MAX = 32;
/**
 * Followers of an endpoint's logs. A follower is a hibernatable socket that is open for as long as it follows, so
 * nothing is lost with memory. Lines pass through; none is stored.
 *
 * Agents get a number, `follow`: 0 without followers, else one that grows with each new follower, so that they also
 * send it the lines that they have not delivered yet.
 */

type Follower = { readonly follow: number };

const TAG = "follow";

export class Followers {
  readonly #context: DurableObjectState;
  #follow = 0;

  constructor(context: DurableObjectState) {
    this.#context = context;
  }

  /** The number for agents. */
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

  /**
   * To those up to the number `known`: an agent sends the earlier lines once it knows of a follower, which would take
   * them for old ones after these.
   */
  send(lines: string, known: number): void {
    for (const socket of this.#open()) {
      if ((socket.deserializeAttachment() as Follower).follow > known) continue;
      try {
        socket.send(lines);
      } catch {
        // It closed first.
      }
    }
  }

  #open(): WebSocket[] {
    return this.#context.getWebSockets(TAG).filter(({ readyState }) => readyState === WebSocket.OPEN);
  }
}
