import { type AddressInfo, createServer, type Socket } from "node:net";
import type { LinkFixture } from "./link-fixture.ts";

/** A worker that speaks TCP as the test says, and notes how often it was connected to, and asked. */
export async function rawWorker(
  host: LinkFixture,
  answer: (socket: Socket, request: string, count: number) => void,
) {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      seen.push(bytes.toString());
      answer(socket, bytes.toString(), seen.length);
    });
    socket.on("close", () => {
      sockets.delete(socket);
      host.link.changed();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host.admission.ports.set("raw", (server.address() as AddressInfo).port);
  host.links.admissionChanged("endpoint-1");
  return {
    seen,
    sockets,
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
