import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isBlockedPort, PORT_MAX } from "../../src/net/port.ts";
import { Failure } from "../core/failure.ts";

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
