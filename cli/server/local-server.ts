/** A server on this computer that offers the endpoints of an app, as the service would. */
import { once } from "node:events";
import type { Server } from "node:http";
import { isIPv6 } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Cli } from "../core/cli.ts";
import type { CallLog } from "./requests/call-log.ts";
import { isLoopback, isWildcard } from "./host-names.ts";
import { listen } from "./listening.ts";
import { localApp } from "./router.ts";
import type { EndpointCalls, ServedApp } from "./requests/served-app.ts";

export type LocalServerSettings = {
  readonly app: ServedApp;
  readonly calls: EndpointCalls;
  readonly log: CallLog;
  /** Name or address to listen on; `localhost` is both loopback addresses. */
  readonly host: string;
  /** The first to try; 0 is any that is free. */
  readonly port: number;
};

export type LocalServer = {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** The port that was asked for is taken by another program. */
  readonly isMoved: boolean;
  /** Serves one endpoint at a port of its own, which the system chooses; answers its URL. */
  openPort(endpoint: string): Promise<string>;
  /** Ends it and aborts the calls that are under way. */
  close(): Promise<void>;
};

/**
 * Starts the server; says so where the port is another one than was asked for, and where others can reach it. Throws a
 * Failure where it cannot listen.
 */
export async function startLocalServer(cli: Cli, settings: LocalServerSettings): Promise<LocalServer> {
  const { host, port: requestedPort } = settings;
  // The globals stay those of Node: the rest of the command uses them too.
  const listener = getRequestListener(localApp(settings).fetch, { overrideGlobalObjects: false });
  const servers: Server[] = [];
  const open = async (first: number, prefix = ""): Promise<number> => {
    const opened = await listen(
      (request, response) => {
        request.url = `${prefix}${request.url ?? "/"}`;
        void listener(request, response);
      },
      host,
      first,
    );
    servers.push(...opened.servers);
    return opened.port;
  };
  const urlOf = (port: number): string => `http://${displayHost(host)}:${port}`;
  const port = await open(requestedPort);
  const isMoved = requestedPort !== 0 && port !== requestedPort;
  if (isMoved) cli.terminal.warn(`Port ${requestedPort} is taken; the server is on port ${port}.`);
  if (!isLoopback(host))
    cli.terminal.warn(`Whoever reaches this computer on ${host} can call the endpoints, without a key.`);
  return {
    url: urlOf(port),
    port,
    isMoved,
    openPort: async (endpoint) => urlOf(await open(0, `/${endpoint}`)),
    close: async () => await closeAll(servers),
  };
}

function displayHost(host: string): string {
  if (isWildcard(host)) return "localhost";
  return isIPv6(host) ? `[${host}]` : host;
}

async function closeAll(servers: readonly Server[]): Promise<void> {
  const closed = servers.map(async (server) => {
    if (!server.listening) return;
    const isOver = once(server, "close");
    server.close();
    server.closeAllConnections();
    await isOver;
  });
  await Promise.all(closed);
}
