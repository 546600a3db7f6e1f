/** Where containers of a preview reach this process: the worker protocol, and their peers. */
import { EdgeRelay } from "../../node-agent/worker-server/edge-relay.ts";
import { WorkerServer, type WorkerSession } from "../../node-agent/worker-server/worker-server.ts";
import { TIMING } from "../../node-agent/core/timing.ts";
import type { AgentLog } from "../../node-agent/core/log.ts";
import { DOCKER_HOST_NAME } from "./worker/container-maker.ts";

const SILENT: AgentLog = { info: () => {}, warn: () => {}, error: () => {} };
/** One port must be free at two addresses. */
const ATTEMPTS = 5;

export type WorkerDoor = { readonly address: string; readonly port: number; close(): Promise<void> };

/** `gateway`: the address of this computer on the containers' network. */
export async function openWorkerDoor(
  gateway: string | undefined,
  peersUrl: string,
  findSession: (workerId: string) => WorkerSession | undefined,
): Promise<WorkerDoor> {
  const server = new WorkerServer({
    findSession,
    relay: new EdgeRelay(peersUrl),
    log: SILENT,
    timing: TIMING,
  });
  const address = await listen(server, gateway);
  return { ...address, close: async () => await server.close() };
}

async function listen(
  server: WorkerServer,
  gateway: string | undefined,
): Promise<{ readonly address: string; readonly port: number }> {
  for (let attempt = 1; gateway !== undefined && attempt <= ATTEMPTS; attempt += 1) {
    try {
      return { address: gateway, port: await server.listen(gateway, 0) };
    } catch (error) {
      await server.close(); // one of the two sockets may be open
      const { code } = error as NodeJS.ErrnoException;
      // The network is in the machine that Docker runs in, which is not this one.
      if (code === "EADDRNOTAVAIL") break;
      if (code !== "EADDRINUSE") throw error;
    }
  }
  return { address: DOCKER_HOST_NAME, port: await server.listen(DOCKER_HOST_NAME, 0) };
}
