/**
 * A TCP proxy in front of the Workers runtime, so that the runtime learns when clients disconnect.
 *
 * The runtime notices a reset connection at once. One that its client closed in the ordinary way it notices only when it
 * sends something, which may be minutes later, or never; so the proxy resets such a connection.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

const HOST = "127.0.0.1";
/** Some clients close their side after the request and wait for the answer, which must come within this time. */
const ANSWER_AFTER_END_MS = 10_000;

export type Front = {
  readonly port: number;
  /** Ends all connections. */
  close(): void;
};

/** Listens on the port, 0 for one that is free, and passes connections on to the runtime's. */
export async function openFront(
  port: number,
  runtimePort: number,
  answerAfterEndMs = ANSWER_AFTER_END_MS,
): Promise<Front> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const runtime = connect({ host: HOST, port: runtimePort, noDelay: true });
    for (const socket of [client, runtime]) {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    }
    join(client, runtime, answerAfterEndMs);
  });
  server.listen(port, HOST);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function join(client: Socket, runtime: Socket, answerAfterEndMs: number): void {
  let patience: NodeJS.Timeout | undefined;
  runtime.pipe(client);
  // Its end is not passed on: a connection that was shut down in order can no longer be reset.
  client.pipe(runtime, { end: false });
  client.once("end", () => {
    patience = setTimeout(() => runtime.resetAndDestroy(), answerAfterEndMs);
  });
  // A side that closes without an end resets the other. An error is followed by "close".
  for (const socket of [client, runtime]) socket.on("error", () => {});
  client.once("close", () => void (runtime.readableEnded || runtime.resetAndDestroy()));
  runtime.once("close", () => {
    clearTimeout(patience);
    if (!runtime.readableEnded) client.resetAndDestroy();
  });
}
