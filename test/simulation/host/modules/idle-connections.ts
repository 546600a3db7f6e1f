/** `Agent` of `node:http`: keeps connections to the servers of containers for the next request. */
import { place } from "../../world/globals.ts";
import type { Machine, World } from "../../world/world.ts";
import type { ContainerServer } from "../container-servers.ts";

type Options = { readonly keepAlive?: boolean; readonly timeout?: number };

/** Until an agent that is busy sees that a server has closed. */
const NOTICE_MS: readonly number[] = [1, 20, 200];

/** One that nothing is sent on. */
class IdleConnection {
  readonly server: ContainerServer;
  readonly #end: { end: () => void };
  /** The server has closed it, whether the agent has seen that or not. */
  isClosed = false;

  constructor(server: ContainerServer, onClosed: () => void) {
    this.server = server;
    this.#end = {
      end: () => {
        this.isClosed = true;
        onClosed();
      },
    };
    server.container.connections.add(this.#end);
  }

  close(): void {
    this.#end.end();
    this.leave();
  }

  /** It is idle no longer. */
  leave(): void {
    this.server.container.connections.delete(this.#end);
  }
}

export class IdleConnections {
  readonly #timeoutMs: number;
  /** By the addresses of their servers; the last one is used first. */
  readonly #idle = new Map<string, IdleConnection[]>();

  constructor({ timeout = 0 }: Options = {}) {
    this.#timeoutMs = timeout;
  }

  /** One for a request; undefined when a new one has to be made. */
  take(host: string, port: number): IdleConnection | undefined {
    const connection = this.#idle.get(keyOf(host, port))?.pop();
    connection?.leave();
    return connection;
  }

  /** A request on a connection to the server has got all of its answer. */
  give(server: ContainerServer): void {
    const { world, machine } = place() as { readonly world: World; readonly machine: Machine };
    const { container } = server;
    const { life } = machine;
    const idleLimitMs = server.idleLimitMs();
    if (!container.isRunning) return;
    const all = this.#of(server);
    const forget = (): void => {
      const at = all.indexOf(connection);
      if (at >= 0) all.splice(at, 1);
    };
    const connection = new IdleConnection(server, () =>
      world.schedule(machine, world.random.pick(NOTICE_MS), "server closes", forget),
    );
    all.push(connection);
    setTimeout(() => {
      if (!all.includes(connection)) return;
      forget();
      connection.leave();
    }, this.#timeoutMs);
    world.schedule(container.machine, idleLimitMs, "closes an idle connection", () => {
      if (!all.includes(connection) || machine.life !== life) return;
      server.closesIdle(idleLimitMs);
      connection.close();
    });
  }

  destroy(): void {
    for (const all of this.#idle.values()) for (const connection of all.splice(0)) connection.leave();
  }

  #of({ container, port }: ContainerServer): IdleConnection[] {
    const key = keyOf(container.address, port);
    const all = this.#idle.get(key) ?? [];
    this.#idle.set(key, all);
    return all;
  }
}

function keyOf(host: string, port: number): string {
  return `${host}:${port}`;
}
