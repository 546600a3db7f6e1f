/** One host of a rig: an agent as a process of its own, with its own state, GPUs, place and perhaps cable. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { bundledAgent } from "../../../scripts/bundle/assets.ts";
import type { DockerDaemon } from "./docker-daemon.ts";
import type { HostLink } from "./host-link.ts";
import { layOutNvidiaSmi, type RecordedGpus } from "./recorded-gpus.ts";
import { OwnDisk } from "./own-disk.ts";
import { until } from "../until.ts";

/** The edge has brought it. */
const PROGRAM = bundledAgent(resolve(import.meta.dirname, "../../.."));

export type RigHostSettings = {
  /** Short: it is part of the names of interfaces and namespaces. */
  readonly name: string;
  /** Without: GPUs of every tier, simulated. */
  readonly gpus?: RecordedGpus;
  readonly dataCenterId?: string;
  /** Gigabytes of a disk of its own for what the agent keeps; needs root. */
  readonly stateDiskGb?: number;
};

type RigHostParts = RigHostSettings & {
  readonly directory: string;
  readonly edgeUrl: string;
  readonly joinToken: string;
  readonly link: HostLink | null;
  readonly docker: DockerDaemon | null;
};

export class RigHost {
  readonly #parts: RigHostParts;
  #agent: ChildProcess | null = null;
  #stateDisk: OwnDisk | null = null;

  private constructor(parts: RigHostParts) {
    this.#parts = parts;
  }

  /** Resolves when the agent is connected. */
  static async start(parts: RigHostParts): Promise<RigHost> {
    const host = new RigHost(parts);
    await mkdir(host.stateDirectory, { recursive: true });
    if (parts.stateDiskGb) host.#stateDisk = await OwnDisk.mount(host.stateDirectory, parts.stateDiskGb);
    if (parts.gpus) await layOutNvidiaSmi(host.#binDirectory, parts.gpus);
    await host.startAgent();
    await host.logged("connected ");
    return host;
  }

  get name(): string {
    return this.#parts.name;
  }

  /** The agent's; the process runtime keeps workers below it. */
  get stateDirectory(): string {
    return join(this.#parts.directory, "state");
  }

  /** All that agents of this host have printed. */
  get log(): string {
    return readFileSync(this.#logPath, "utf8");
  }

  /** The Docker daemon of this host alone. */
  get docker(): DockerDaemon {
    if (this.#parts.docker === null) throw new Error(`${this.name} has no Docker of its own`);
    return this.#parts.docker;
  }

  get link(): HostLink {
    if (this.#parts.link === null) throw new Error(`${this.name} has no cable of its own`);
    return this.#parts.link;
  }

  get stateDisk(): OwnDisk {
    if (this.#stateDisk === null) throw new Error(`${this.name} has no disk of its own`);
    return this.#stateDisk;
  }

  /** Starts an agent on what the last one left. */
  async startAgent(): Promise<void> {
    const log = openSync(this.#logPath, "a", 0o600);
    const [command = "", ...args] = this.#command();
    this.#agent = spawn(command, args, { env: this.#environment(), stdio: ["ignore", log, log] });
    closeSync(log);
    await once(this.#agent, "spawn");
  }

  async killAgent(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stopAgent(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** The agent does nothing any more, though its connections stay. */
  freeze(): void {
    this.#agent?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#agent?.kill("SIGCONT");
  }

  /** Waits until the agents of this host have printed a text, perhaps after so many characters. */
  async logged(text: string, fromCharacter = 0): Promise<void> {
    const isLogged = () => this.log.slice(fromCharacter).includes(text);
    const look = () => {
      if (isLogged() || this.#hasEnded()) return true;
      throw new Error(this.#story()); // what the end of the wait tells
    };
    await until(look, `${text} in the log of ${this.name}`, 240_000);
    if (!isLogged()) throw new Error(this.#story());
  }

  #hasEnded(): boolean {
    return this.#agent?.exitCode != null || this.#agent?.signalCode != null;
  }

  #story(): string {
    const ended = this.#agent?.signalCode ?? this.#agent?.exitCode;
    return `the agent of ${this.name} ${ended == null ? "runs" : `ended (${ended})`}:\n${this.log}`;
  }

  get #logPath(): string {
    return join(this.#parts.directory, "agent.log");
  }

  get #binDirectory(): string {
    return join(this.#parts.directory, "bin");
  }

  #command(): readonly string[] {
    const { name, gpus, dataCenterId, edgeUrl, link, docker } = this.#parts;
    const command = [process.execPath, PROGRAM, "run", "--name", name];
    command.push("--edge", link?.edgeUrl ?? edgeUrl, "--state", this.stateDirectory);
    command.push("--log-level", "debug");
    command.push("--runtime", docker ? "docker" : "process");
    if (gpus === undefined) command.push("--simulate-gpus");
    if (dataCenterId !== undefined) command.push("--data-center", dataCenterId);
    return link?.inside(command) ?? command;
  }

  #environment(): NodeJS.ProcessEnv {
    const { joinToken, docker } = this.#parts;
    return {
      ...process.env,
      EDGERUN_JOIN_TOKEN: joinToken,
      // Edge and registry are at addresses of the rig's own network.
      EDGERUN_ALLOW_PLAIN_HTTP: "true",
      EDGERUN_ALLOW_REGISTRY: "*",
      // A worker's plain `node` is the Node that runs this.
      PATH: [this.#binDirectory, dirname(process.execPath), process.env["PATH"]].join(delimiter),
      ...(docker && { DOCKER_HOST: docker.address }),
    };
  }

  async #end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const agent = this.#agent;
    if (agent === null || this.#hasEnded()) return;
    const ended = once(agent, "exit");
    agent.kill(signal);
    await ended;
  }
}
