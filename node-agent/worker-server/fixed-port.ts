import { errorCode } from "../../src/std/errors.ts";
import type { Journal } from "../journal/journal.ts";
import type { AgentLog } from "../core/log.ts";
import type { WorkerServer } from "./worker-server.ts";

const SETTING = "worker_port";
const ADDRESS_SETTING = "worker_address";
/** Older agents stored no address. */
const LOOPBACK = "127.0.0.1";
const ATTEMPTS = 5;

export type FixedPort = {
  readonly port: number;
  /** False when running containers cannot reach the agent any more. */
  readonly isSame: boolean;
  /**
   * The next agent listens here too. Not to be called while containers are kept that expect the agent elsewhere: the
   * next agent would take them for reachable.
   */
  readonly remember: () => void;
};

/** Listens where running containers expect the agent, if that is free. */
export async function listenOnFixedPort(
  server: WorkerServer,
  workerAddress: string,
  journal: Journal,
  log: AgentLog,
): Promise<FixedPort> {
  const preferredPort = Number(journal.setting(SETTING) ?? 0);
  const isSameAddress = (journal.setting(ADDRESS_SETTING) ?? LOOPBACK) === workerAddress;
  const port = await listenOn(server, workerAddress, preferredPort);
  const isFirst = preferredPort === 0;
  const isSamePort = isFirst || port === preferredPort;
  if (!isSamePort) log.warn("worker_port_changed", { address: `${workerAddress}:${preferredPort}`, port });
  const remember = (): void => {
    saveIfNew(journal, ADDRESS_SETTING, workerAddress);
    saveIfNew(journal, SETTING, String(port));
  };
  return { port, isSame: isFirst || (isSamePort && isSameAddress), remember };
}

/** On a full disk nothing can be written, and most starts have nothing to write. */
function saveIfNew(journal: Journal, name: string, value: string): void {
  if (journal.setting(name) !== value) journal.saveSetting(name, value);
}

/** The port on which it listens: the preferred one, or another if that is taken; 0 prefers none. */
async function listenOn(server: WorkerServer, workerAddress: string, preferredPort: number): Promise<number> {
  const preferred =
    preferredPort === 0 ? undefined : await listenIfFree(server, workerAddress, preferredPort);
  if (preferred !== undefined) return preferred;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const port = await listenIfFree(server, workerAddress, 0);
    if (port !== undefined) return port;
  }
  throw new Error(`No port is free for workers on both 127.0.0.1 and ${workerAddress}.`);
}

async function listenIfFree(
  server: WorkerServer,
  workerAddress: string,
  port: number,
): Promise<number | undefined> {
  try {
    return await server.listen(workerAddress, port);
  } catch (error) {
    await server.close(); // one of the two sockets may be open
    if (errorCode(error) === "EADDRINUSE") return undefined;
    throw error;
  }
}
