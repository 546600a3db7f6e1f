/** The package `ws`: WebSockets of programs of a simulated host, to the edge and to the servers of its containers. */
import { EDGE_URL } from "../../runtime/edge.ts";
import { ContainerSocket, type SocketOptions } from "./container-socket.ts";
import { EdgeSocket, type EdgeSocketOptions } from "./edge-socket.ts";
import { READY_STATE } from "./ready-state.ts";

const EDGE_HOST = new URL(EDGE_URL).hostname;

function open(address: URL | string, options: EdgeSocketOptions & SocketOptions = {}) {
  const url = new URL(address);
  return url.hostname === EDGE_HOST ? new EdgeSocket(url, options) : new ContainerSocket(url, options);
}

/** To be called with `new`. */
export const WebSocket = Object.assign(function WebSocket(...values: Parameters<typeof open>) {
  return open(...values);
}, READY_STATE);
