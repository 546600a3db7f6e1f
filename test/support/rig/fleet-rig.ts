/** A fleet on one machine: an edge, and several hosts with real agents. Nothing of it outlives its owner. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createJoinToken, managementApi, type ManagementApi } from "../../../standalone/management-api.ts";
import { freePort } from "../free-port.ts";
import { Launch } from "../launch.ts";
import { QueueClient } from "../queue-client.ts";
import { DockerDaemon } from "./docker-daemon.ts";
import { HostLink } from "./host-link.ts";
import { RigHost, type RigHostSettings } from "./rig-host.ts";
import { rigDirectory } from "./sweep.ts";
import { Sweeper } from "./sweeper.ts";

type HostSettings = RigHostSettings & {
  /** Whether it can be unplugged; needs root. */
  readonly hasLink?: boolean;
  /** Gigabytes of the disk of a Docker daemon of its own, behind a cable of its own; else workers are processes. */
  readonly dockerDiskGb?: number;
  /** Whether its containers outlive that daemon. */
  readonly isLiveRestore?: boolean;
  /** Images that its Docker daemon has, from that of this machine. */
  readonly images?: readonly string[];
};

/** A host as the management API shows it. */
export type ShownHost = { readonly name: string; readonly isPresent: boolean; readonly workers: number };

export class FleetRig implements AsyncDisposable {
  /** Part of the names of all that the rig makes. */
  readonly name: string;
  readonly #stack: AsyncDisposableStack;
  readonly #edge: Launch;
  readonly apiKey: string;

  private constructor(name: string, edge: Launch, stack: AsyncDisposableStack) {
    this.name = name;
    this.#edge = edge;
    this.#stack = stack;
    this.apiKey = readFileSync(join(edgeDirectory(name), "api-key"), "utf8").trim();
  }

  /** Starts the edge. `prepare` may lay its bundle out, which is built otherwise; `env` holds settings of the edge. */
  static async open(
    prepare: (stateDirectory: string) => Promise<void> = async () => {},
    env: Readonly<Record<string, string>> = {},
  ): Promise<FleetRig> {
    const name = `edgerun-rig-${randomBytes(4).toString("hex")}`;
    await using stack = new AsyncDisposableStack();
    await mkdir(rigDirectory(name), { recursive: true });
    stack.use(new Sweeper(name));
    const stateDirectory = edgeDirectory(name);
    await mkdir(stateDirectory);
    await prepare(stateDirectory);
    const port = await freePort();
    const options = ["--no-agent", "--no-example"];
    const edge = new Launch({ via: "script", port, stateDirectory, options, env });
    stack.defer(() => edge.stop());
    await edge.settled();
    return new FleetRig(name, edge, stack.move());
  }

  get directory(): string {
    return rigDirectory(this.name);
  }

  get baseUrl(): string {
    return this.#edge.record.url;
  }

  get api(): ManagementApi {
    return managementApi(this.baseUrl, this.apiKey);
  }

  /** A client of an endpoint's queue, with the key of the account. */
  clientOf(endpointId: string): QueueClient {
    return new QueueClient({ baseUrl: this.baseUrl, apiKey: this.apiKey, endpointId });
  }

  /** The Workers runtime; another process after it was killed. */
  get edgePid(): number {
    const { edgePid } = this.#edge.record;
    if (edgePid === null) throw new Error("the edge is not running");
    return edgePid;
  }

  /** Resolves when the host is connected. */
  async addHost(settings: HostSettings): Promise<RigHost> {
    const { name, hasLink = false, dockerDiskGb, isLiveRestore = false, images = [] } = settings;
    const directory = join(this.directory, name);
    const link = hasLink || dockerDiskGb ? await HostLink.create(this.name, name, this.baseUrl) : null;
    if (link) this.#stack.use(link);
    const place = { rigName: this.name, directory: join(directory, "docker") };
    const docker =
      link && dockerDiskGb
        ? await DockerDaemon.open({ ...place, link, isLiveRestore, diskGb: dockerDiskGb })
        : null;
    for (const image of images) await docker?.load(image);
    const joinToken = await createJoinToken(this.api, name);
    const host = await RigHost.start({
      ...settings,
      directory,
      edgeUrl: this.baseUrl,
      joinToken,
      link,
      docker,
    });
    this.#stack.defer(() => host.killAgent());
    return host;
  }

  /** What the management API says of the hosts, by name. */
  async hosts(): Promise<ReadonlyMap<string, ShownHost>> {
    const { myself } = await this.api.query<{ myself: { hosts: readonly ShownHost[] } }>(
      "query { myself { hosts { name isPresent workers } } }",
    );
    return new Map(myself.hosts.map((host) => [host.name, host]));
  }

  /** Ends everything and removes all files. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

function edgeDirectory(rigName: string): string {
  return join(rigDirectory(rigName), "edge");
}
