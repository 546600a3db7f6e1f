/** The Worker's side of a wake-up channel: it waits for a notification, so that the object may hibernate. */

/** Longest wait on one channel, after which the waiter polls: a notification may have been lost. */
export const CHANNEL_WAIT_MAX_MS = 90_000;

type Upgradable = { fetch(url: string, init: RequestInit): Promise<Response> };

/** Why a wait ended; with the text of an answer where the object has sent one. */
export type WakeUp = "look" | "superseded" | "over" | { readonly answer: string };

/** Waits until the object notifies, `untilAt` has come, or the caller is gone. A broken channel means: look again. */
export async function awaitWakeUp(
  object: Upgradable,
  query: Readonly<Record<string, string>>,
  untilAt: number,
  signal: AbortSignal,
): Promise<WakeUp> {
  if (Date.now() >= untilAt || signal.aborted) return "over";
  return await awaitChannel(openChannel(object, query), untilAt, signal);
}

/** The same on a channel that is open or being opened; null for one that could not be opened. */
export async function awaitChannel(
  opening: Promise<WebSocket | null>,
  untilAt: number,
  signal: AbortSignal,
): Promise<WakeUp> {
  const { promise, resolve } = Promise.withResolvers<WakeUp>();
  const timer = setTimeout(resolve, untilAt - Date.now(), "over");
  const onAbort = () => resolve("over");
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort);
  const channel = listenOn(opening, resolve);
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
): Promise<WebSocket | null> {
  const url = `https://object/wake-ups?${new URLSearchParams(query).toString()}`;
  return await object.fetch(url, { headers: { Upgrade: "websocket" } }).then(
    (response) => response.webSocket,
    () => null, // the next call to the object shows the error
  );
}

async function listenOn(
  opening: Promise<WebSocket | null>,
  resolve: (wakeUp: WakeUp) => void,
): Promise<WebSocket | null> {
  const webSocket = await opening;
  if (!webSocket) {
    resolve("look");
    return null;
  }
  webSocket.addEventListener("message", ({ data }) => {
    if (data === "superseded" || data === "look") resolve(data);
    else resolve({ answer: String(data) });
  });
  webSocket.addEventListener("close", () => resolve("look"));
  webSocket.addEventListener("error", () => resolve("look"));
  webSocket.accept();
  return webSocket;
}
