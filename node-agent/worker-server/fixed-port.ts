import { errorCode } from "../../src/std/errors.ts";
import type { Journal } from "../journal/journal.ts";
import type { AgentLog } from "../core/log.ts";
import type { WorkerServer } from "./worker-server.ts";

const SETTING = "worker_port";
const ADDRESS_SETTING = "worker_address";
/** Older agents stored no address. */
const LOOPBACK = "127.0.0.1";
const ATTEMPTS = 5;

/** Listens where running containers expect the agent. `isSame` is false when they cannot reach it any more. */
export async function listenOnFixedPort(
  server: WorkerServer,
  workerAddress: string,
  journal: Journal,
  log: AgentLog,
): Promise<{ readonly port: number; readonly isSame: boolean }> {
  const address = `${workerAddress}:${journal.setting(SETTING) ?? "0"}`;
  const preferredPort = Number(journal.setting(SETTING) ?? 0);
  const isSameAddress = (journal.setting(ADDRESS_SETTING) ?? LOOPBACK) === workerAddress;
  journal.saveSetting(ADDRESS_SETTING, workerAddress);
  const reusedPort =
    preferredPort === 0 ? undefined : await listenIfFree(server, workerAddress, preferredPort);
  if (reusedPort !== undefined) return { port: reusedPort, isSame: isSameAddress };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const port = await listenIfFree(server, workerAddress, 0);
    if (port === undefined) continue;
    journal.saveSetting(SETTING, String(port));
    if (preferredPort !== 0) log.warn("worker_port_changed", { address, port });
    return { port, isSame: preferredPort === 0 };
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
