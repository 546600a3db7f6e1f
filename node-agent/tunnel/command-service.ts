/** A command at the end of a tunnel. */
import { parseJson } from "../../src/std/json.ts";
import { errorMessage, ignoreFailure } from "../../src/std/errors.ts";
import type { TunnelMessage } from "../../src/tunnel/tunnel-channel.ts";
import {
  clientMessageSchema,
  type CommandLoss,
  commandLossSchema,
  type ExecStart,
  OUTPUT,
  TUNNEL_MESSAGE_MAX_BYTES,
} from "../../src/tunnel/tunnel-messages.ts";
import type * as z from "zod";
import type { CommandProcess, OutputName, RunningCommand } from "../runtime/interface/command.ts";
import type { Runtime } from "../runtime/interface/runtime.ts";
import type { Tunnel, TunnelService } from "./tunnel.ts";

type ClientMessage = z.output<typeof clientMessageSchema>;

const MESSAGE_MAX_CHARACTERS = 2_000;
const LOST = "The connection to the command was lost on its host, as when Docker starts again. It was ended.";
const CONTAINER_ENDED = "The container has ended.";
const END_NEWS_MS = 2_000;
/** Beside the byte that names the output. */
const PIECE_MAX_BYTES = TUNNEL_MESSAGE_MAX_BYTES - 1;

/** What the agent remembers of commands, so that the next one can end them. */
export type CommandMemory = {
  started(process: CommandProcess): void;
  ended(process: CommandProcess): void;
};

export type CommandParts = {
  readonly runtime: Pick<Runtime, "exec">;
  readonly commands: CommandMemory;
};

export class CommandService implements TunnelService {
  readonly #tunnel: Tunnel;
  readonly #runtime: Pick<Runtime, "exec">;
  readonly #commands: CommandMemory;
  /** Undefined before START; null for a command that could not be started. */
  #running: Promise<RunningCommand | null> | undefined;
  #command: RunningCommand | undefined;

  constructor(tunnel: Tunnel, { runtime, commands }: CommandParts) {
    this.#tunnel = tunnel;
    this.#runtime = runtime;
    this.#commands = commands;
  }

  receive(message: TunnelMessage, consumed: () => void): string | undefined {
    if (typeof message !== "string") return this.#receiveInput(message, consumed);
    consumed();
    const { data } = clientMessageSchema.safeParse(parseJson(message));
    if (!data) return "The message is none of a client.";
    if ((data.type === "start") !== (this.#running === undefined))
      return "START is the first message, and comes once.";
    if (data.type === "start") {
      this.#running = this.#start(data);
      this.#running.catch(ignoreFailure); // the client was told
    } else this.#whenRunning((command) => apply(command, data));
    return undefined;
  }

  drained(): void {
    this.#command?.resume();
  }

  async end(): Promise<void> {
    const command = await this.#running;
    await command?.kill();
    await command?.exit;
  }

  #receiveInput(bytes: Uint8Array, consumed: () => void): string | undefined {
    if (this.#running === undefined) return "START comes before input.";
    this.#whenRunning((command) => command.write(bytes, consumed));
    return undefined;
  }

  /** In the order of the calls; nothing happens for a command that could not be started. */
  #whenRunning(act: (command: RunningCommand) => void): void {
    void this.#running?.then((command) => command && act(command));
  }

  async #start({ type: _, ...request }: ExecStart): Promise<RunningCommand | null> {
    try {
      const command = await this.#runtime.exec(this.#tunnel.options.workerId, {
        ...request,
        onOutput: (name, bytes) => this.#print(name, bytes),
      });
      this.#tunnel.say({ type: "started" });
      const { process } = command;
      if (process) this.#commands.started(process);
      void command.exit.then((end) => {
        if (process) this.#commands.ended(process);
        this.#ended(end);
      });
      this.#command = command;
      command.resume();
      return command;
    } catch (error) {
      this.#tunnel.fail(errorMessage(error).slice(0, MESSAGE_MAX_CHARACTERS), lossOf(error));
      return null;
    }
  }

  #print(name: OutputName, bytes: Uint8Array): void {
    const count = Math.ceil(bytes.byteLength / PIECE_MAX_BYTES);
    const size = Math.ceil(bytes.byteLength / count);
    for (let at = 0; at < bytes.byteLength; at += size) {
      this.#tunnel.send(Buffer.concat([Buffer.of(OUTPUT[name]), bytes.subarray(at, at + size)]));
    }
    if (this.#tunnel.isFull) this.#command?.pause();
  }

  #ended(end: number | CommandLoss): void {
    if (end === "lost") return this.#tunnel.fail(LOST, end);
    if (end === "container_ended") {
      // Why it has ended is told by who watches the container, in a moment.
      setTimeout(() => this.#tunnel.fail(CONTAINER_ENDED, end), END_NEWS_MS).unref();
      return;
    }
    this.#tunnel.say({ type: "exit", code: end });
    this.#tunnel.finish();
  }
}

/** What a StartLoss says. */
function lossOf(error: unknown): CommandLoss | undefined {
  const loss = error instanceof Error && "loss" in error ? error.loss : undefined;
  return commandLossSchema.safeParse(loss).data;
}

function apply(command: RunningCommand, message: Exclude<ClientMessage, { readonly type: "start" }>): void {
  if (message.type === "resize") command.resize(message);
  else if (message.type === "signal") command.signal(message.signal);
  else command.end();
}
