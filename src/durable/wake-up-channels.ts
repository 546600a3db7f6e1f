/**
 * Doorbells: how somebody waits for a quiet object without keeping it awake.
 *
 * A waiter is a hibernatable WebSocket, tagged with what it waits for; the socket itself is the record, so
 * nothing is lost when the object hibernates. A ring carries no truth: the waiter looks again, and a lost
 * or doubled ring does no harm.
 */

export type WakeUpChannel<Waiter> = {
  readonly waiter: Waiter;
  readonly notify: (reason: NotifyReason) => void;
};

/** `superseded`: a newer wait of the same waiter took its place; do not look again. */
export type NotifyReason = "look" | "superseded";

export class WakeUpChannels<Waiter> {
  readonly #context: DurableObjectState;

  constructor(context: DurableObjectState) {
    this.#context = context;
  }

  /** Registers a waiter under the tags and returns the answer to its upgrade request. */
  accept(
    tags: readonly string[],
    waiter: Waiter,
  ): { response: Response; notify: (reason: NotifyReason) => void } {
    const { 0: client, 1: server } = new WebSocketPair();
    this.#context.acceptWebSocket(server, [...tags]);
    server.serializeAttachment(waiter);
    return {
      response: new Response(null, { status: 101, webSocket: client }),
      notify: (reason) => notify(server, reason),
    };
  }

  find(tag: string): WakeUpChannel<Waiter>[] {
    return this.#context
      .getWebSockets(tag)
      .filter((socket) => socket.readyState === WebSocket.OPEN)
      .map((socket) => ({
        waiter: socket.deserializeAttachment() as Waiter,
        notify: (reason: NotifyReason) => notify(socket, reason),
      }));
  }

  notifyAll(tag: string): void {
    for (const channel of this.find(tag)) channel.notify("look");
  }
}

/** Rings once and hangs up: a socket left behind would make every later search slower. */
function notify(socket: WebSocket, reason: NotifyReason): void {
  try {
    socket.send(reason);
    socket.close(1000, reason);
  } catch {
    // The waiter hung up first; it looks again by itself.
  }
}
