/** The servers in containers, by their addresses. */
import type { Container } from "./containers.ts";
import type { Exchange } from "./exchange.ts";

export type ContainerServer = {
  readonly container: Container;
  /** A request has come. */
  readonly serve: (exchange: Exchange) => void;
};

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
  const { isRunning, spec } = server?.container ?? {};
  return isRunning && spec?.serverPorts?.port === port ? server : undefined;
}
