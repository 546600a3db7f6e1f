/**
 * What pods have on this host beside their containers: published ports, and the directory of their local volume.
 *
 * S1  Both outlive the container, the agent, and a stop of the pod; the journal has the ports, the disk the volumes.
 * S2  A volume is removed when the edge has said which volumes stay and the pod is not among them, and its container
 *     is gone; and before a container of its pod starts that has none, or one of another number. An edge that says
 *     nothing keeps all others.
 * S3  Two pods never have the same port, whether they run or not.
 * S4  A pod that left this host without a volume finds its ports again when it returns. There are 64 at most, chosen by chance.
 */
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { idSchema, type AssignedPod, type PublishedPort } from "../../src/contract/agent/agent.ts";
import { POD_SYMMETRIC_PORT_MIN } from "../../src/contract/agent/agent.ts";
import { isLoopbackHost } from "../../src/net/public-host.ts";
import { errorMessage, ignoreFailure } from "../../src/std/errors.ts";
import type { AgentLog } from "../core/log.ts";
import type { Journal } from "../journal/journal.ts";
import { isPortFree } from "../runtime/interface/sockets.ts";
import type { RuntimeKind, WorkerSpec } from "../runtime/interface/runtime.ts";

/** The ports of this host at which ports of pods are published, the last one included. */
export type PortRange = { readonly first: number; readonly last: number };

/** Below the ports that Linux chooses itself, so that no program has them by chance. */
export const PUBLIC_PORTS_DEFAULT: PortRange = { first: 20_000, last: 29_999 };

export type PodStoreOptions = {
  readonly stateDir: string;
  readonly journal: Pick<Journal, "podPorts" | "savePodPorts" | "podsWithPorts" | "removePodPorts">;
  readonly log: AgentLog;
  readonly runtimeKind: RuntimeKind;
  /** Address at which clients reach this host; absent: no port is published. */
  readonly publicAddress?: string | undefined;
  readonly publicPorts: PortRange;
};

/** Pods whose ports are kept after they have left this host. */
const LEFT_PODS_MAX = 64;
/** Ports that are looked at before a host counts as full. */
const CHOICES_MAX = 200;

export class PodStore {
  readonly #options: PodStoreOptions;
  /** Pods whose volumes stay; undefined until the edge has said so. */
  #kept: ReadonlySet<string> | undefined;
  /** Volumes that are being removed, which no container gets. */
  readonly #removals = new Map<string, Promise<void>>();

  constructor(options: PodStoreOptions) {
    this.#options = options;
  }

  /** Address of this machine at which published ports listen. */
  get #listenAddress(): string {
    const { publicAddress = "" } = this.#options;
    return isLoopbackHost(publicAddress) ? "127.0.0.1" : "0.0.0.0";
  }

  /** The published ports of a pod that was started here. */
  portsOf(podId: string): readonly PublishedPort[] {
    return this.#options.journal.podPorts(podId);
  }

  /** Chooses ports for what is not published yet and makes the volume. Throws with a message for users. */
  async prepare(podId: string, pod: AssignedPod): Promise<NonNullable<WorkerSpec["pod"]>> {
    const ports = await this.#choosePorts(podId, pod);
    this.#options.journal.savePodPorts(podId, ports);
    const volumePath = await this.#volumeOf(podId, pod);
    const { volumeInGb, volumeMountPath, clusterAddress } = pod;
    return {
      ...{ ports, listenAddress: this.#listenAddress, volumePath, volumeInGb, volumeMountPath },
      ...(clusterAddress !== undefined && { clusterAddress }),
    };
  }

  /** Something else may have taken its ports: the next start chooses others. */
  forgetPorts(podId: string): void {
    this.#options.journal.removePodPorts(podId);
  }

  /** `kept`: pods whose volumes stay on this host, as the edge says; undefined where it says nothing. */
  setKept(kept: readonly string[] | undefined): void {
    if (kept !== undefined) this.#kept = new Set(kept);
  }

  /** Removes what belongs to no pod: neither to one of `present`, nor to one that has a volume here (S2). */
  async sweep(present: ReadonlySet<string>): Promise<void> {
    const isOver = (podId: string) => !this.#keepsVolumeOf(podId) && !present.has(podId);
    const { journal } = this.#options;
    const left = this.#kept === undefined ? [] : journal.podsWithPorts().filter(isOver);
    for (const podId of left.slice(LEFT_PODS_MAX)) journal.removePodPorts(podId); // S4
    const names = await readdir(this.#podsPath).catch(() => []);
    for (const podId of names) if (isOver(podId)) await this.#removeVolumeOrLog(podId);
  }

  /** The container of a pod is gone, and with it the volume that the pod has no longer (S2). */
  async containerRemoved(podId: string): Promise<void> {
    if (!this.#keepsVolumeOf(podId)) await this.#removeVolumeOrLog(podId);
  }

  // Ports

  async #choosePorts(podId: string, { ports }: AssignedPod): Promise<readonly PublishedPort[]> {
    if (this.#options.publicAddress === undefined) return [];
    const before = this.portsOf(podId);
    const taken = new Set(
      this.#options.journal
        .podsWithPorts()
        .flatMap((id) => this.portsOf(id))
        .map((port) => port.public),
    );
    const chosen: PublishedPort[] = [];
    for (const { port } of ports.filter(({ protocol }) => protocol === "tcp")) {
      const kept = before.find(({ requested }) => requested === port);
      const published = kept ?? (await this.#publish(port, taken));
      taken.add(published.public);
      chosen.push(published);
    }
    return chosen;
  }

  async #publish(requested: number, taken: ReadonlySet<number>): Promise<PublishedPort> {
    const isSymmetric = requested >= POD_SYMMETRIC_PORT_MIN;
    // Plain processes share the ports of this machine.
    const isOwn = this.#options.runtimeKind === "process" && !isSymmetric;
    const free = isOwn ? requested : await this.#freePort(taken);
    return { requested, private: isSymmetric ? free : requested, public: free };
  }

  async #freePort(taken: ReadonlySet<number>): Promise<number> {
    const { first, last } = this.#options.publicPorts;
    for (let choices = 0; choices < CHOICES_MAX; choices += 1) {
      const port = randomInt(first, last + 1);
      if (!taken.has(port) && (await isPortFree(this.#listenAddress, port))) return port;
    }
    throw new Error(
      `No port from ${first} to ${last} is free on this host. Stop pods, or give the agent a larger range (--public-ports).`,
    );
  }

  // Volumes

  get #podsPath(): string {
    return join(this.#options.stateDir, "pods");
  }

  #keepsVolumeOf(podId: string): boolean {
    return this.#kept?.has(podId) ?? true;
  }

  async #volumeOf(podId: string, { volumeInGb, volumeNumber = 0 }: AssignedPod): Promise<string | null> {
    await this.#removals.get(podId)?.catch(ignoreFailure);
    const path = join(this.#directoryOf(podId), volumeNumber === 0 ? "volume" : `volume-${volumeNumber}`);
    if (volumeInGb === 0 || !existsSync(path)) await this.#removeVolume(podId);
    return volumeInGb > 0 ? await this.#makeVolume(path) : null;
  }

  async #removeVolumeOrLog(podId: string): Promise<void> {
    const { log } = this.#options;
    await this.#removeVolume(podId).catch(
      (error: unknown) => log.error("pod_volume_not_removed", { podId, reason: errorMessage(error) }), // the next sweep tries again
    );
  }

  #removeVolume(podId: string): Promise<void> {
    const removal =
      this.#removals.get(podId) ?? this.#removeDirectory(podId).finally(() => this.#removals.delete(podId));
    this.#removals.set(podId, removal);
    return removal;
  }

  async #removeDirectory(podId: string): Promise<void> {
    const path = this.#directoryOf(podId);
    if (!existsSync(path)) return;
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
    this.#options.log.info("pod_volume_removed", { podId });
  }

  #directoryOf(podId: string): string {
    return join(this.#podsPath, idSchema.parse(podId));
  }

  async #makeVolume(path: string): Promise<string> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await chmod(path, 0o777); // its programs may run as any user; those of the host do not get into the state directory
    return path;
  }
}
