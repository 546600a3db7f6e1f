/** Connects to a TCP port at which a process of a worker listens. */
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import type { ListeningSocket } from "../interface/runtime.ts";

/** Where something is reached that listens at all addresses. */
const ANY_ADDRESSES = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "127.0.0.1"],
]);

/** Throws with a message for users. */
export async function connectToSocket(found: ListeningSocket | undefined, port: number): Promise<Socket> {
  if (!found) throw new Error(`Nothing of the worker listens on port ${port}.`);
  const host = ANY_ADDRESSES.get(found.address) ?? found.address;
  const socket = createConnection({ host, port, allowHalfOpen: true });
  socket.pause();
  await once(socket, "connect");
  return socket;
}
