/** A local server with the endpoints of an app. */
import { once } from "node:events";
import { type Server, createServer, type RequestListener } from "node:http";
import { isIPv6, type AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Cli } from "../core/cli.ts";
import type { CallLog, EndpointCalls, ServedApp } from "./requests/served-app.ts";
import { isLoopback, isWildcard } from "./host-names.ts";
import { localApp } from "./router.ts";
import { isBlockedPort, PORT_MAX } from "../../src/net/port.ts";
import { Failure } from "../../src/std/failure.ts";

export type LocalServerSettings = {
  readonly app: ServedApp;
  readonly calls: EndpointCalls;
  readonly log: CallLog;
  /** Name or address to listen on; `localhost` is both loopback addresses. */
  readonly host: string;
  /** First port to try; 0 for any free port. */
  readonly port: number;
};

export type LocalServer = {
  /** Without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** The requested port was in use. */
  readonly isMoved: boolean;
  /** Serves one endpoint at a separate port, which the system chooses; returns its URL. */
  openPort(endpoint: string): Promise<string>;
  /** Ends it and aborts the calls that are under way. */
  close(): Promise<void>;
};

/**
 * Starts the server; warns where the port is not the requested one, and where other computers can reach it. Throws a
 * Failure where it cannot listen.
 */
export async function startLocalServer(cli: Cli, settings: LocalServerSettings): Promise<LocalServer> {
  const { host, port: requestedPort } = settings;
  // The rest of the command uses the globals of Node.
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
  if (isMoved) cli.terminal.warn(`Port ${requestedPort} is in use; the server is on port ${port}.`);
  if (!isLoopback(host))
    cli.terminal.warn(`Any computer that can reach ${host} can call the endpoints without a key.`);
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

const PORTS_TO_TRY = 20;

export type Listening = { readonly servers: readonly Server[]; readonly port: number };

/**
 * Listens on the port, or on the next free one that browsers do not block; port 0 is any. Throws a Failure where none is
 * free.
 */
export async function listen(listener: RequestListener, host: string, port: number): Promise<Listening> {
  const last = Math.min(port + PORTS_TO_TRY - 1, PORT_MAX);
  for (let candidate = port; candidate <= last; candidate += 1) {
    if (isBlockedPort(candidate)) continue;
    const servers = await listenOnAll(listener, addressesOf(host), port === 0 ? 0 : candidate);
    const [first] = servers;
    if (first !== undefined) return { servers, port: portOf(first) };
  }
  const taken = port === last ? `Port ${port} is in use.` : `Ports ${port} to ${last} are all in use.`;
  throw new Failure(taken, ["Choose another one with --port."]);
}

/** Both loopback addresses, since programs differ in what localhost means. */
function addressesOf(host: string): readonly string[] {
  return host === "localhost" ? ["127.0.0.1", "::1"] : [host];
}

/** One server for each available address; none where the port is in use on one of them. */
async function listenOnAll(
  listener: RequestListener,
  addresses: readonly string[],
  port: number,
): Promise<readonly Server[]> {
  const servers: Server[] = [];
  for (const address of addresses) {
    const [first] = servers;
    const server = createServer(listener);
    const failed = await start(server, address, first === undefined ? port : portOf(first));
    if (failed === undefined) servers.push(server);
    else if (failed.code === "EADDRINUSE") {
      for (const one of servers) one.close();
      return [];
    } else if (first === undefined) throw explained(failed, address, port);
  }
  return servers;
}

async function start(server: Server, host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening");
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function explained(error: NodeJS.ErrnoException, host: string, port: number): Failure {
  if (error.code === "EACCES")
    return new Failure(`Port ${port} is not permitted for this user.`, ["Choose another one with --port."]);
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND" || error.code === "EAI_AGAIN")
    return new Failure(`${host} is not an address of this computer.`, ["Choose another one with --host."]);
  return new Failure(`The local server cannot listen on ${host}, port ${port}: ${error.message}`);
}
