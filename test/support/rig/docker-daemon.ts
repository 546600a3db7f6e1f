/** A Docker daemon of one host of a rig, with data, socket, network and containers of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import Dockerode from "dockerode";
import type { HostLink } from "./host-link.ts";
import { OwnDisk } from "./own-disk.ts";
import { until } from "../until.ts";

const DATA = "data";

type DaemonSettings = {
  readonly rigName: string;
  readonly directory: string;
  /** The daemon lives in the host's namespace, so its bridges are nobody else's. */
  readonly link: HostLink;
  /** Size of the disk for images and containers, in gigabytes. */
  readonly diskGb: number;
  /** Containers outlive the daemon. */
  readonly isLiveRestore: boolean;
};

export class DockerDaemon {
  readonly #settings: DaemonSettings;
  readonly client: Dockerode;
  /** Disk for images and containers. */
  readonly disk: OwnDisk;
  #process: ChildProcess | null = null;

  private constructor(settings: DaemonSettings, disk: OwnDisk) {
    this.#settings = settings;
    this.disk = disk;
    this.client = new Dockerode({ socketPath: this.#path("docker.sock") });
  }

  /** Resolves when the daemon answers. */
  static async open(settings: DaemonSettings): Promise<DockerDaemon> {
    const disk = await OwnDisk.mount(join(settings.directory, DATA), settings.diskGb);
    const daemon = new DockerDaemon(settings, disk);
    await daemon.start();
    return daemon;
  }

  /** As DOCKER_HOST has it. */
  get address(): string {
    return `unix://${this.#path("docker.sock")}`;
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    // A daemon that was killed leaves these: the next one takes any process with that id for its own.
    for (const file of ["pid", "exec/containerd/containerd.pid"]) await rm(this.#path(file), { force: true });
    const log = openSync(this.#path("dockerd.log"), "a");
    const [command = "", ...args] = this.#settings.link.inside(this.#command());
    const daemon = spawn(command, args, { stdio: ["ignore", log, log] });
    this.#process = daemon;
    closeSync(log);
    const isOver = () => daemon.exitCode !== null || daemon.signalCode !== null;
    await until(async () => isOver() || (await this.client.ping()), "an answer of dockerd", 120_000);
    if (isOver()) {
      throw new Error(`dockerd ended:\n${readFileSync(this.#path("dockerd.log"), "utf8").slice(-2_000)}`);
    }
  }

  /** SIGTERM ends its containers, SIGKILL leaves them running; without live restore the next daemon ends them. */
  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (this.#process === null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill(signal);
    await ended;
  }

  /** Takes an image over from the daemon of this machine. */
  async load(image: string): Promise<void> {
    const archive = await new Dockerode().getImage(image).get();
    const progress = await this.client.loadImage(archive);
    for await (const line of progress) if (/"error"/.test(String(line))) throw new Error(String(line));
  }

  #command(): readonly string[] {
    const { rigName, isLiveRestore } = this.#settings;
    const paths = [
      "--data-root",
      this.#path(DATA),
      "--exec-root",
      this.#path("exec"),
      "--pidfile",
      this.#path("pid"),
    ];
    const registries = ["--insecure-registry", "10.0.0.0/8"]; // those that are reached over the cable
    const command = ["dockerd", "--host", this.address, ...paths, ...registries];
    if (isLiveRestore) command.push("--live-restore");
    return [...command, "--cgroup-parent", `/${rigName}`];
  }

  #path(name: string): string {
    return join(this.#settings.directory, name);
  }
}
