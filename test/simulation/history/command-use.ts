/** A client that runs a command in a container: gives it input, and reads its outputs and its exit code. */
import type { OutputName } from "../../../node-agent/runtime/interface/command.ts";
import type { TunnelMessage } from "../../../src/tunnel/tunnel-channel.ts";
import { type AgentMessage, OUTPUT } from "../../../src/tunnel/tunnel-messages.ts";
import type { Container } from "../host/containers.ts";
import { TunnelClient } from "./tunnel-client.ts";
import type { TunnelParts } from "./tunnels.ts";

const INPUTS_MAX = 4;
const INPUT_MS = 300;
const SIZES: readonly number[] = [0, 10, 10_000];
const VANISHING = 0.1;
const LEAVING = 0.15;
/** Where there are no faults, a command ends within this when its client closes the tunnel. */
const ENDS_MS = 2_000;

export class CommandUse {
  readonly #parts: TunnelParts;
  readonly #mark: string;
  readonly #tunnel: TunnelClient;
  #sent = "";
  readonly #got: Record<OutputName, string> = { stdout: "", stderr: "" };

  constructor(parts: TunnelParts, { spec }: Container) {
    this.#parts = parts;
    this.#mark = `c${parts.world.random.whole(0, 1e9)}`;
    const path = `/tunnels/${spec.workerId}/exec`;
    this.#tunnel = new TunnelClient({ ...parts, path, onMessage: (message) => this.#take(message) });
  }

  async run(): Promise<void> {
    const { random } = this.#parts.world;
    const tunnel = this.#tunnel;
    tunnel.send(JSON.stringify({ type: "start", command: ["program", this.#mark] }));
    for (let left = random.whole(0, INPUTS_MAX); left > 0 && !tunnel.isOver; left -= 1) {
      const input = `${left}${"x".repeat(random.pick(SIZES))};`;
      this.#sent += input;
      tunnel.send(Buffer.from(input));
      await pause(random.delay(INPUT_MS));
    }
    if (random.chance(VANISHING)) return tunnel.vanish();
    if (random.chance(LEAVING)) return await this.#leave();
    tunnel.send(JSON.stringify({ type: "end" }));
    await tunnel.over();
  }

  /** It wants the command no longer. */
  async #leave(): Promise<void> {
    const { plan, commands } = this.#parts;
    if (this.#tunnel.isOver) return;
    this.#tunnel.close();
    await pause(ENDS_MS);
    if (plan.faults.size === 0 && commands.isRunning(this.#mark))
      this.#tunnel.wrong(`has been closed, and the command ${this.#mark} runs on`);
  }

  #take(message: TunnelMessage): void {
    if (typeof message !== "string") return this.#takeOutput(message);
    const said = JSON.parse(message) as AgentMessage;
    if (said.type === "exit") this.#takeExit(said.code);
    if (said.type !== "started") this.#tunnel.close();
  }

  #takeOutput(message: Uint8Array): void {
    const name = message[0] === OUTPUT.stderr ? "stderr" : "stdout";
    this.#got[name] += Buffer.from(message.subarray(1)).toString();
    if (!this.#parts.commands.of(this.#mark).printed[name].startsWith(this.#got[name]))
      this.#tunnel.wrong(`brings other ${name} than the command ${this.#mark} has printed`);
  }

  /** The exit code comes after all that the command has printed and read. */
  #takeExit(code: number | null): void {
    const { printed, read, exitCode } = this.#parts.commands.of(this.#mark);
    if (code !== exitCode) this.#tunnel.wrong(`brings the exit code ${code} instead of ${exitCode}`);
    if (read !== this.#sent) this.#tunnel.wrong(`lacks input of ${this.#mark}`);
    for (const name of ["stdout", "stderr"] as const)
      if (this.#got[name] !== printed[name]) this.#tunnel.wrong(`lacks ${name} of ${this.#mark}`);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
