/** The servers in containers, by their addresses. */
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import type { Container } from "./containers.ts";
import type { Exchange } from "./exchange.ts";

export type ContainerServer = {
  readonly container: Container;
  readonly port: number;
  /** For how long it keeps a connection that is idle, the next one. */
  readonly idleLimitMs: () => number;
  /** It closes one that it has kept for so long, and that the agent would use. */
  readonly closesIdle: (idleMs: number) => void;
  /** A request has come. */
  readonly serve: (exchange: Exchange) => void;
};

/** The program of a pod takes requests at the port that this variable has. */
export const POD_PORT_VARIABLE = "SERVED_PORT";

/** Where the program of a container takes requests; undefined for one that takes none. */
export function servedPort({ serverPorts, pod, env }: WorkerSpec): number | undefined {
  const port = env[POD_PORT_VARIABLE];
  return pod && port !== undefined ? Number(port) : serverPorts?.port;
}

const servers = new Map<string, ContainerServer>();

/** A new world begins. */
export function closeContainerServers(): void {
  servers.clear();
}

/** From now on the container takes connections. */
export function listenIn(server: ContainerServer): void {
  servers.set(server.container.address, server);
}

/** Undefined where nothing listens. */
export function serverAt(address: string, port: number): ContainerServer | undefined {
  const server = servers.get(address);
  return server?.container.isRunning && server.port === port ? server : undefined;
}
