/** The Worker's side of a doorbell: it waits for a ring, so that the object need not. */

type Upgradable = { fetch(url: string, init: RequestInit): Promise<Response> };

export type Ring = "look" | "superseded" | "over";

/** Waits until the object rings, `untilAt` has come, or the caller is gone. A broken bell means: look. */
export async function awaitRing(
  object: Upgradable,
  query: Readonly<Record<string, string>>,
  untilAt: number,
  signal: AbortSignal,
): Promise<Ring> {
  const leftMs = untilAt - Date.now();
  if (leftMs <= 0 || signal.aborted) return "over";
  const { promise, resolve } = Promise.withResolvers<Ring>();
  const timer = setTimeout(resolve, leftMs, "over");
  const onAbort = () => resolve("over");
  signal.addEventListener("abort", onAbort);
  const bell = hangUp(object, query, resolve);
  try {
    return await promise; // also where the bell itself cannot be hung up in time
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    void bell.then((webSocket) => webSocket?.close(1000));
  }
}

async function hangUp(
  object: Upgradable,
  query: Readonly<Record<string, string>>,
  resolve: (ring: Ring) => void,
): Promise<WebSocket | null> {
  const address = `https://object/doorbell?${new URLSearchParams(query).toString()}`;
  const webSocket = await object.fetch(address, { headers: { Upgrade: "websocket" } }).then(
    (response) => response.webSocket,
    () => null, // whatever is wrong, the next look tells
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
