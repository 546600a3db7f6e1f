/** The tunnels of a host: opens them on the link of the host, and ends them with their containers. */
import { errorMessage, ignoreFailure } from "../../src/std/errors.ts";
import { within } from "../../src/std/waiting.ts";
import { TUNNEL_CLOSE, type TunnelHead, tunnelHeadSchema } from "../../src/tunnel/tunnel-messages.ts";
import type { OutputShare } from "../../src/tunnel/tunnel-channel.ts";
import type { Timing } from "../core/timing.ts";
import { BufferedMessages } from "../link/message-buffer.ts";
import type { LinkStream, OpenedStream, StreamOpener } from "../link/link-stream.ts";
import type { Runtime } from "../runtime/interface/runtime.ts";
import { type CommandMemory, CommandService } from "./command-service.ts";
import { PortService } from "./port-service.ts";
import { Tunnel } from "./tunnel.ts";
import { TunnelStream } from "./tunnel-stream.ts";

const CONTAINER_TUNNELS_MAX = 100;
/** What is kept for clients of all tunnels, before each keeps less. */
const OUTPUT_MAX_BYTES = 64 * 1_000_000;
/** For all that clients have in a container: longer than it takes to kill a command. */
const ENDING_MAX_MS = 12_000;
const STOPPED = "The agent of the host was stopped.";

export type TunnelsOptions = {
  readonly runtime: Pick<Runtime, "exec" | "connect">;
  readonly commands: CommandMemory;
  readonly timing: Pick<Timing, "tunnelResumeMs" | "tunnelRenewalMs">;
  /** Why nobody may enter the worker's container now, a message for users; null where one may. */
  readonly rejectionOf: (workerId: string) => string | null;
};

type Opening = OpenedStream & { readonly request: TunnelHead };

export class Tunnels implements StreamOpener {
  readonly #options: TunnelsOptions;
  readonly #tunnels = new Map<string, Tunnel>();
  /** What is being ended, also of tunnels that are over. */
  readonly #endings = new Set<{ readonly workerId: string; readonly ended: Promise<void> }>();
  readonly #buffered = new BufferedMessages();
  readonly #kept: OutputShare = { bytes: 0, maxBytes: OUTPUT_MAX_BYTES };

  constructor(options: TunnelsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#tunnels.size;
  }

  open(opened: OpenedStream): LinkStream | null {
    const { channel, target } = opened;
    const { data: request } = tunnelHeadSchema.safeParse(opened.head);
    if (!request || (request.kind === "tcp") !== (target.port !== undefined)) {
      channel.fail("protocol", "The head of the tunnel is invalid.");
      return null;
    }
    const opening = { ...opened, request };
    // A client that was not told that its tunnel is open may open it again.
    const isKnown = this.#tunnels.get(request.tunnelId)?.isServed;
    return request.isResumed || isKnown ? this.#resume(opening) : this.#create(opening);
  }

  /**
   * The worker's container has ended, or is about to be frozen. Resolves when nothing of its tunnels is left in it. Rejects
   * when something does not end. `reason`: a message for users.
   */
  async workerEnded(workerId: string, reason: string): Promise<void> {
    for (const tunnel of this.#tunnels.values())
      if (tunnel.options.workerId === workerId) tunnel.fail(reason, "container_ended");
    const own = [...this.#endings].filter((ending) => ending.workerId === workerId);
    const all = Promise.all(own.map(({ ended }) => ended));
    if ((await within(ENDING_MAX_MS, all, null)) === null)
      throw new Error("A command that runs in its container does not end.");
  }

  #ending(workerId: string, ended: Promise<void>): void {
    const ending = { workerId, ended };
    this.#endings.add(ending);
    ended.catch(ignoreFailure).finally(() => this.#endings.delete(ending));
  }

  stop(): void {
    for (const tunnel of [...this.#tunnels.values()]) tunnel.close(TUNNEL_CLOSE.over, STOPPED);
  }

  #resume({ channel, target, request }: Opening): LinkStream | null {
    const tunnel = this.#tunnels.get(request.tunnelId);
    const { kind, workerId, port } = tunnel?.options ?? {};
    if (!tunnel?.isServed || kind !== request.kind || workerId !== target.workerId || port !== target.port) {
      channel.fail("tunnel_gone", "The host has no such tunnel any more.");
      return null;
    }
    const stream = new TunnelStream(channel);
    stream.open(tunnel);
    return stream;
  }

  #create({ channel, target, request }: Opening): LinkStream | null {
    const { workerId, port } = target;
    const rejection = this.#options.rejectionOf(workerId);
    if (rejection !== null) channel.fail("worker_gone", rejection);
    else if (this.#tunnels.has(request.tunnelId)) channel.fail("protocol", "The tunnel is being opened.");
    else if (this.#countOf(workerId) >= CONTAINER_TUNNELS_MAX)
      channel.fail("worker_failed", tooMany(workerId));
    if (channel.isOver) return null;
    const tunnel = this.#add(workerId, port, request);
    const stream = new TunnelStream(channel);
    if (port === undefined) {
      tunnel.serve(new CommandService(tunnel, this.#options));
      stream.open(tunnel);
    } else void this.#connect(tunnel, stream, port, (detail) => channel.fail("worker_failed", detail));
    return stream;
  }

  #add(workerId: string, port: number | undefined, { kind, tunnelId, idleMs }: TunnelHead): Tunnel {
    const { timing } = this.#options;
    const onOver = () => void this.#tunnels.delete(tunnelId);
    const onEnding = (ended: Promise<void>) => this.#ending(workerId, ended);
    const tunnel = new Tunnel({
      kind,
      tunnelId,
      idleMs,
      workerId,
      port,
      timing,
      buffered: this.#buffered,
      kept: this.#kept,
      onOver,
      onEnding,
    });
    this.#tunnels.set(tunnelId, tunnel);
    return tunnel;
  }

  async #connect(tunnel: Tunnel, stream: TunnelStream, port: number, refuse: (detail: string) => void) {
    try {
      const socket = await this.#options.runtime.connect(tunnel.options.workerId, port);
      if (stream.isOver || !tunnel.isOpen) socket.destroy();
      if (!tunnel.isOpen) throw new Error("The container has ended.");
      if (stream.isOver) return tunnel.drop();
      tunnel.serve(new PortService(tunnel, socket));
      stream.open(tunnel);
    } catch (error) {
      tunnel.drop();
      refuse(errorMessage(error));
    }
  }

  #countOf(workerId: string): number {
    return [...this.#tunnels.values()].filter(({ options }) => options.workerId === workerId).length;
  }
}

function tooMany(workerId: string): string {
  return `The container of ${workerId} has ${CONTAINER_TUNNELS_MAX} open tunnels; close some of them.`;
}
