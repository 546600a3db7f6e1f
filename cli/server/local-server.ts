/** A server on this computer that offers the endpoints of an app, as the service would. */
import { once } from "node:events";
import { type Server, createServer, type RequestListener } from "node:http";
import { isIPv6, type AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Cli } from "../core/cli.ts";
import type { CallLog, EndpointCalls, ServedApp } from "./requests/served-app.ts";
import { isLoopback, isWildcard } from "./host-names.ts";
import { localApp } from "./router.ts";
import { isBlockedPort, PORT_MAX } from "../../src/net/port.ts";
import { Failure } from "../core/failure.ts";

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
  const { servers, port } = await listen(
    (request, response) => void listener(request, response),
    host,
    requestedPort,
  );
  const isMoved = requestedPort !== 0 && port !== requestedPort;
  if (isMoved) cli.terminal.warn(`Port ${requestedPort} is taken; the server is on port ${port}.`);
  if (!isLoopback(host))
    cli.terminal.warn(`Whoever reaches this computer on ${host} can call the endpoints, without a key.`);
  return {
    url: `http://${displayHost(host)}:${port}`,
    port,
    isMoved,
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
 * Listens on the port, or on the next one that is free and that browsers call; port 0 is any. Throws a Failure where
 * none is to be had.
 */
export async function listen(listener: RequestListener, host: string, port: number): Promise<Listening> {
  const last = Math.min(port + PORTS_TO_TRY - 1, PORT_MAX);
  for (let candidate = port; candidate <= last; candidate += 1) {
    if (isBlockedPort(candidate)) continue;
    const servers = await listenOnAll(listener, addressesOf(host), port === 0 ? 0 : candidate);
    const [first] = servers;
    if (first !== undefined) return { servers, port: portOf(first) };
  }
  const taken = port === last ? `Port ${port} is taken.` : `The ports ${port} to ${last} are all taken.`;
  throw new Failure(taken, ["Name another one with --port."]);
}

/** Programs differ in which of the two they mean by localhost. */
function addressesOf(host: string): readonly string[] {
  return host === "localhost" ? ["127.0.0.1", "::1"] : [host];
}

/** One server for each address that this computer has; none where the port is taken on one of them. */
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
    return new Failure(`Port ${port} may not be used by this account.`, ["Name another one with --port."]);
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND" || error.code === "EAI_AGAIN")
    return new Failure(`${host} is no address of this computer.`, ["Name one of its own with --host."]);
  return new Failure(`The local server cannot listen on ${host}, port ${port}: ${error.message}`);
}
