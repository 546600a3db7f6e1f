/** Connects to a TCP port of a container. */
import type Dockerode from "dockerode";
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { errorCode, errorMessage } from "../../../src/std/errors.ts";
import type { NamespaceDialer } from "./namespace-dialer.ts";

const CONNECT_LIMIT_MS = 10_000;

export type ContainerPort = {
  /** The container, read again each time; null when it is gone. */
  readonly find: () => Promise<Dockerode.ContainerInspectInfo | null>;
  readonly networkName: string;
  readonly port: number;
  readonly dialer: NamespaceDialer;
};

/** Throws with a message for users. */
export async function connectToContainer(target: ContainerPort): Promise<Socket> {
  const { find, networkName, port, dialer } = target;
  const container = await find();
  if (!container?.State.Running) throw new Error("The container does not run.");
  const host = container.NetworkSettings.Networks[networkName]?.IPAddress;
  const socket = (host && (await reach(host, port))) || (await dialInside(container, port, dialer));
  // Its address may have been given to another container meanwhile.
  const isSame = await find().then(
    (found) => found?.Id === container.Id && found.State.StartedAt === container.State.StartedAt,
    () => false,
  );
  if (isSame) return socket;
  socket.destroy();
  throw new Error("The container has ended.");
}

/** Undefined when nothing listens at that address. */
async function reach(host: string, port: number): Promise<Socket | undefined> {
  const socket = createConnection({ host, port, allowHalfOpen: true });
  socket.pause();
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_LIMIT_MS) });
    return socket;
  } catch (error) {
    socket.destroy();
    if (errorCode(error) !== undefined) return undefined;
    throw error;
  }
}

async function dialInside(
  { NetworkSettings }: Dockerode.ContainerInspectInfo,
  port: number,
  dialer: NamespaceDialer,
): Promise<Socket> {
  try {
    const socket = await dialer.connect(NetworkSettings.SandboxKey, port);
    socket.allowHalfOpen = true;
    return socket;
  } catch (error) {
    throw new Error(explain(port, errorMessage(error)), { cause: error });
  }
}

function explain(port: number, reason: string): string {
  if (reason === "ECONNREFUSED" || reason === "EADDRNOTAVAIL")
    return `Nothing listens on port ${port} of the container.`;
  return `Port ${port} cannot be reached: nothing listens at the container's address, and whether something listens on its loopback cannot be found out (${reason}). Make the server listen on 0.0.0.0, or run the agent as root beside Docker's own daemon with the command nsenter installed.`;
}
