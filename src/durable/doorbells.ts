/**
 * Doorbells: how somebody waits for a quiet object without keeping it awake.
 *
 * A waiter is a hibernatable WebSocket, tagged with what it waits for; the socket itself is the record, so
 * nothing is lost when the object hibernates. A ring carries no truth: the waiter looks again, and a lost
 * or doubled ring does no harm.
 */

export type Doorbell<Waiter> = { readonly waiter: Waiter; readonly ring: (reason: RingReason) => void };

/** `superseded`: a newer wait of the same waiter took its place; do not look again. */
export type RingReason = "look" | "superseded";

export class Doorbells<Waiter> {
  readonly #context: DurableObjectState;

  constructor(context: DurableObjectState) {
    this.#context = context;
  }

  /** Registers a waiter under the tags and returns the answer to its upgrade request. */
  accept(
    tags: readonly string[],
    waiter: Waiter,
  ): { response: Response; ring: (reason: RingReason) => void } {
    const { 0: client, 1: server } = new WebSocketPair();
    this.#context.acceptWebSocket(server, [...tags]);
    server.serializeAttachment(waiter);
    return {
      response: new Response(null, { status: 101, webSocket: client }),
      ring: (reason) => ring(server, reason),
    };
  }

  find(tag: string): Doorbell<Waiter>[] {
    return this.#context
      .getWebSockets(tag)
      .filter((socket) => socket.readyState === WebSocket.OPEN)
      .map((socket) => ({
        waiter: socket.deserializeAttachment() as Waiter,
        ring: (reason: RingReason) => ring(socket, reason),
      }));
  }

  ringAll(tag: string): void {
    for (const doorbell of this.find(tag)) doorbell.ring("look");
  }
}

/** Rings once and hangs up: a socket left behind would make every later search slower. */
function ring(socket: WebSocket, reason: RingReason): void {
  try {
    socket.send(reason);
    socket.close(1000, reason);
  } catch {
    // The waiter hung up first; it looks again by itself.
  }
}
