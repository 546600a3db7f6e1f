/** The two phases of waiting for an object: in its memory while it is busy, then on a wake-up channel. */

/** How long a call may wait inside a busy object before it moves to a wake-up channel. */
export const IN_OBJECT_WAIT_MS = 250;

/** Calls that wait in memory for a moment while the object is busy anyway. */
export class Waiters<Key, Value> {
  readonly #byKey = new Map<Key, Set<(value: Value | undefined) => void>>();

  /** Resolves with the value passed to `wake`, or with undefined after `holdMs`. */
  wait(key: Key, holdMs: number): Promise<Value | undefined> {
    return new Promise((resolve) => {
      const waiting = this.#byKey.get(key) ?? new Set();
      this.#byKey.set(key, waiting);
      const end = (value: Value | undefined) => {
        clearTimeout(timer);
        waiting.delete(end);
        if (waiting.size === 0 && this.#byKey.get(key) === waiting) this.#byKey.delete(key);
        resolve(value);
      };
      const timer = setTimeout(end, holdMs, undefined);
      waiting.add(end);
    });
  }

  wake(key: Key, value: Value): void {
    for (const end of this.#byKey.get(key) ?? []) end(value);
  }

  wakeAll(value: Value): void {
    for (const key of [...this.#byKey.keys()]) this.wake(key, value);
  }
}

// Wake-up channels let a caller wait for an idle object without keeping it awake. A waiter is a hibernatable
// WebSocket, tagged with what it waits for; the socket itself is the record, so nothing is lost when the object
// hibernates. A notification carries no data: the waiter polls again, and a lost or doubled one does no harm.

export type WakeUpChannel<Waiter> = {
  readonly waiter: Waiter;
  readonly notify: (reason: NotifyReason) => void;
};

/** `look`: poll again. `superseded`: a newer wait of the same waiter replaced this one; do not poll. */
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

/** Notifies once and closes: a socket left open would make every later search slower. */
function notify(socket: WebSocket, reason: NotifyReason): void {
  try {
    socket.send(reason);
    socket.close(1000, reason);
  } catch {
    // The waiter closed first; it polls by itself.
  }
}
