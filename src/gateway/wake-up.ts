/** The Worker's side of a wake-up channel: it waits for a notification, so that the object may hibernate. */

/** Longest wait on one channel, after which the waiter polls: a notification may have been lost. */
export const CHANNEL_WAIT_MAX_MS = 90_000;

type Upgradable = { fetch(url: string, init: RequestInit): Promise<Response> };

export type WakeUp = "look" | "superseded" | "over";

/** Waits until the object notifies, `untilAt` has come, or the caller is gone. A broken channel means: look again. */
export async function awaitWakeUp(
  object: Upgradable,
  query: Readonly<Record<string, string>>,
  untilAt: number,
  signal: AbortSignal,
): Promise<WakeUp> {
  const leftMs = untilAt - Date.now();
  if (leftMs <= 0 || signal.aborted) return "over";
  const { promise, resolve } = Promise.withResolvers<WakeUp>();
  const timer = setTimeout(resolve, leftMs, "over");
  const onAbort = () => resolve("over");
  signal.addEventListener("abort", onAbort);
  const channel = openChannel(object, query, resolve);
  try {
    return await promise; // even when the channel cannot be closed in time
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    void channel.then((webSocket) => webSocket?.close(1000));
  }
}

async function openChannel(
  object: Upgradable,
  query: Readonly<Record<string, string>>,
  resolve: (wakeUp: WakeUp) => void,
): Promise<WebSocket | null> {
  const url = `https://object/wake-ups?${new URLSearchParams(query).toString()}`;
  const webSocket = await object.fetch(url, { headers: { Upgrade: "websocket" } }).then(
    (response) => response.webSocket,
    () => null, // the next call to the object shows the error
  );
  if (!webSocket) {
    resolve("look");
    return null;
  }
  webSocket.addEventListener("message", ({ data }) => resolve(data === "superseded" ? "superseded" : "look"));
  webSocket.addEventListener("close", () => resolve("look"));
  webSocket.addEventListener("error", () => resolve("look"));
  webSocket.accept();
  return webSocket;
}
