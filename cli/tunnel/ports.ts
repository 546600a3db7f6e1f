/** `edgerun port-forward` and `edgerun tunnel`: TCP ports of a container. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { ignoreFailure } from "../../src/std/errors.ts";
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { within } from "../../src/std/waiting.ts";
import type { Cli } from "../core/cli.ts";
import { printable } from "../core/printable.ts";
import { ClientTunnel } from "./client-tunnel.ts";
import { type Container, openContainer } from "./container.ts";
import { PortStream } from "./port-stream.ts";

const LOOPBACK = "127.0.0.1";
/** Ports up to it are for root, on most systems. */
const PRIVILEGED_PORT_MAX = 1_023;
const LEAVE_LIMIT_MS = 1_000;

/** A port of this computer, 0 for a free one, and that of the container. */
type ForwardedPort = { readonly local: number; readonly remote: number };

/**
 * Forwards ports until the command is interrupted. Throws a Failure when a port of this computer is taken, or the
 * container cannot be reached.
 */
export async function forwardPorts(cli: Cli, id: string, ports: readonly ForwardedPort[]): Promise<void> {
  refuseRepeated(ports);
  const container = await openContainer(cli, id);
  const { service, containerId } = container;
  for (const { remote } of ports) await ClientTunnel.check(service, { containerId, port: remote });
  const forwarding = { cli, container, streams: new Set<PortStream>() };
  const servers: Server[] = [];
  try {
    for (const port of ports) servers.push(await listen(forwarding, port));
    if (!cli.signal.aborted) await once(cli.signal, "abort");
  } finally {
    for (const server of servers) server.close();
    // Their other ends would wait for them to be resumed.
    const left = Promise.all([...forwarding.streams].map((stream) => stream.leave()));
    await within(LEAVE_LIMIT_MS, left, undefined);
  }
}

/** Throws a Failure when a port of this computer is meant for two. */
function refuseRepeated(ports: readonly ForwardedPort[]): void {
  const seen = new Set<number>();
  for (const { local } of ports) {
    if (local !== 0 && seen.has(local)) {
      const advice = "Give each port another one here, or let the system choose: 0:<remote>.";
      throw new Failure(`Port ${local} of this computer is named twice.`, [advice], EXIT_USAGE);
    }
    seen.add(local);
  }
}

function notAllowed(local: number, remote: number): Failure {
  const advice = `Choose one above ${PRIVILEGED_PORT_MAX}, such as ${8_000 + (local % 1_000)}:${remote}.`;
  return new Failure(`You may not listen on port ${local} of this computer.`, [advice], EXIT_USAGE);
}

type Forwarding = {
  readonly cli: Cli;
  readonly container: Container;
  /** Those that are open. */
  readonly streams: Set<PortStream>;
};

async function listen(forwarding: Forwarding, { local, remote }: ForwardedPort): Promise<Server> {
  const { cli, container } = forwarding;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    void forward(forwarding, { socket, port: remote });
  });
  server.listen(local, LOOPBACK);
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "EACCES") throw notAllowed(local, remote);
    if (error.code !== "EADDRINUSE") throw error;
    const advice = `Choose another one, or let the system choose: 0:${remote}.`;
    throw new Failure(`Port ${local} of this computer is taken.`, [advice], EXIT_USAGE);
  });
  const { port } = server.address() as AddressInfo;
  cli.terminal.say(`Forwarding ${LOOPBACK}:${port} to port ${remote} of ${container.containerId}`);
  return server;
}

type Accepted = { readonly socket: Socket; readonly port: number };

/** A connection that fails is closed; the others go on. */
async function forward({ cli, container, streams }: Forwarding, { socket, port }: Accepted): Promise<void> {
  socket.on("error", ignoreFailure); // until the tunnel is open
  try {
    const stream = await PortStream.open(container, port);
    streams.add(stream.once("close", () => streams.delete(stream)));
    if (cli.signal.aborted) stream.destroy();
    await Promise.all([pipeline(socket, stream), pipeline(stream, socket)]);
  } catch (error) {
    if (error instanceof Failure && !cli.signal.aborted)
      cli.terminal.warn(printable(`Port ${port}: ${error.text}`));
  } finally {
    socket.destroy();
  }
}

/** Connects standard input and output with a port until the port's side ends. */
export async function tunnelPort(cli: Cli, id: string, port: number): Promise<void> {
  const stream = await PortStream.open(await openContainer(cli, id), port);
  const end = (): void => void stream.destroy(); // ssh hangs up when it has what it wants
  cli.signal.addEventListener("abort", end);
  if (cli.signal.aborted) end();
  process.stdin.pipe(stream);
  await pipeline(stream, process.stdout, { end: false }).catch((error: unknown) => {
    if (!cli.signal.aborted) throw error;
  });
}
