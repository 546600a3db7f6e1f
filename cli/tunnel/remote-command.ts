/** A command that runs in a container, at the end of a tunnel. */
import { EXIT_CANNOT_RUN, EXIT_FAILURE, Failure } from "../../src/std/failure.ts";
import { parseJson } from "../../src/std/json.ts";
import type { TunnelMessage } from "../../src/tunnel/tunnel-channel.ts";
import {
  type AgentMessage,
  agentMessageSchema,
  type ClientMessage,
  clientMessageSchema,
  type EXEC_SIGNALS,
  OUTPUT,
  TUNNEL_MESSAGE_MAX_BYTES,
} from "../../src/tunnel/tunnel-messages.ts";
import type { Service } from "../service/service.ts";
import { ClientTunnel, ConnectionLoss } from "./client-tunnel.ts";

export type TerminalSize = { readonly columns: number; readonly rows: number };

export type RemoteCommandOptions = {
  readonly service: Pick<Service, "url" | "apiKey">;
  readonly containerId: string;
  /** Program and arguments; no shell interprets them. */
  readonly command: readonly string[];
  /** Absent: none, and standard error comes apart. */
  readonly terminal?: TerminalSize & { readonly type?: string };
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** `taken` is to be called when the bytes use no memory any longer; the command waits when many are not. */
  readonly onOutput: (output: "stdout" | "stderr", bytes: Uint8Array, taken: () => void) => void;
  readonly onConnection?: (isThere: boolean) => void;
};

/** The command has ended through no doing of its own; another one may run. */
class LostCommand extends ConnectionLoss {}

/** Throws a Failure for one that no agent takes. */
function startOf({ command, terminal, directory, environment = {} }: RemoteCommandOptions): string {
  const start = JSON.stringify({
    type: "start",
    command: [...command],
    terminal: terminal ?? null,
    ...(directory !== undefined && { directory }),
    environment,
  } satisfies ClientMessage);
  const isTaken = clientMessageSchema.safeParse(JSON.parse(start)).success;
  if (isTaken && Buffer.byteLength(start) <= TUNNEL_MESSAGE_MAX_BYTES) return start;
  throw new Failure(
    "The command is too long.",
    [
      "With its arguments and variables it may have 64 KB; 1,000 arguments of up to 48 KB, variables of up to 4 KB.",
      "Give it more on its standard input, or copy a file first: edgerun cp",
    ],
    EXIT_CANNOT_RUN,
  );
}

export class RemoteCommand {
  /** Its exit code, after all of its output; null where it is unknown. Rejects with a Failure. */
  readonly exit: Promise<number | null>;
  readonly #options: RemoteCommandOptions;
  #resolve: (code: number | null) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #tunnel: ClientTunnel | undefined;
  #drained: (() => void)[] = [];

  #hasStarted = false;

  private constructor(options: RemoteCommandOptions) {
    this.#options = options;
    this.exit = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.exit.catch(() => {});
  }

  /** Starts the command; throws a Failure when no tunnel can be opened. A command that cannot run rejects `exit`. */
  static async start(options: RemoteCommandOptions): Promise<RemoteCommand> {
    const { service, containerId, onConnection } = options;
    const start = startOf(options);
    const remote = new RemoteCommand(options);
    const tunnel = await ClientTunnel.open({
      service,
      target: { containerId },
      onMessage: (message, consumed) => remote.#take(message, consumed),
      onDrain: () => remote.#drain(),
      ...(onConnection && { onConnection }),
    });
    remote.#tunnel = tunnel;
    tunnel.over.then(
      () => remote.#fail(new Failure("The tunnel ended before the command did.")),
      remote.#fail,
    );
    tunnel.send(start);
    return remote;
  }

  /** Sends bytes to its standard input; resolves when there is room for more. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength; at += TUNNEL_MESSAGE_MAX_BYTES) {
      this.#tunnel?.send(bytes.subarray(at, at + TUNNEL_MESSAGE_MAX_BYTES));
      if (this.#tunnel?.isFull) await new Promise<void>((resolve) => this.#drained.push(resolve));
    }
  }

  /** Ends its standard input. */
  end(): void {
    this.#say({ type: "end" });
  }

  /** Without effect for a command without a terminal. */
  resize({ columns, rows }: TerminalSize): void {
    this.#say({ type: "resize", columns, rows });
  }

  signal(signal: (typeof EXEC_SIGNALS)[number]): void {
    this.#say({ type: "signal", signal });
  }

  /** Ends the command, if it still runs, and the tunnel. */
  close(): void {
    this.#tunnel?.close();
  }

  #take(message: TunnelMessage, consumed: () => void): void {
    if (typeof message !== "string") return this.#output(message, consumed);
    consumed();
    const { data } = agentMessageSchema.safeParse(parseJson(message));
    if (data) this.#hear(data);
  }

  #output(message: Uint8Array, consumed: () => void): void {
    const output = message[0] === OUTPUT.stderr ? "stderr" : "stdout";
    this.#options.onOutput(output, message.subarray(1), consumed);
  }

  #hear(message: AgentMessage): void {
    if (message.type === "started") {
      this.#hasStarted = true;
      return;
    }
    if (message.type === "end") return;
    if (message.type === "exit") this.#resolve(message.code);
    else this.#fail(this.#failureOf(message));
    this.close();
  }

  #failureOf({ message, loss }: Extract<AgentMessage, { type: "error" }>): Failure {
    if (loss !== undefined) return new LostCommand(message);
    return new Failure(message, [], this.#hasStarted ? EXIT_FAILURE : EXIT_CANNOT_RUN);
  }

  readonly #fail = (error: unknown): void => {
    this.#reject(error);
    this.#drain();
  };

  #drain(): void {
    const waiting = this.#drained;
    this.#drained = [];
    for (const resume of waiting) resume();
  }

  #say(message: ClientMessage): void {
    this.#tunnel?.send(JSON.stringify(message));
  }
}
