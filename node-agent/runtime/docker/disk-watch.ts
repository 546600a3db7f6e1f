/**
 * Ends workers that write more than their containerDiskInGb, and pods that write more than volumeInGb to their volume.
 *
 * W1  Docker lists the watched containers at each check, so workers of an earlier agent process are included.
 * W2  A worker is measured when it could be full at the fastest, at least once a minute.
 * W3  What it writes to volumes that its image declares counts, too: they lie on the host's disk.
 * W4  A pod whose volume was too full starts again with what is in it, and is ended when that grows: only so can its
 *     owner delete files. The allowance is a label of the container, and shrinks with the volume.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type Dockerode from "dockerode";
import * as z from "zod";
import type { AgentLog } from "../../core/log.ts";
import {
  allowedVolumeBytesOfLabels,
  diskBytesOfLabels,
  ownerOfLabels,
  volumeBytesOfLabels,
} from "./container-options.ts";
import { ContainerWatch } from "./container-watch.ts";
import { isNotFound } from "../daemon/docker-errors.ts";

const run = promisify(execFile);

/** A good disk takes no more in a second. */
const FASTEST_BYTES_PER_MS = 1e9 / 1_000;
const CHECK_MIN_MS = 5_000;
const CHECK_MAX_MS = 60_000;
/** What deleting files may write on the way: logs, histories of shells. */
const GROWTH_BYTES = 100e6;
/** A tree of many millions of files. */
const MEASURE_LIMIT_MS = 60_000;

/** Data of Docker's overlay driver; other drivers report other data. */
const driverDataSchema = z.object({ UpperDir: z.string().optional() });
const sizeSchema = z.object({ SizeRw: z.number().default(0) });

type Bound = {
  /** The setting that sets it. */
  readonly setting: "containerDiskInGb" | "volumeInGb";
  readonly limitBytes: number;
  /** As much, or more in a volume that was too full at the start (W4). */
  allowedBytes: number;
  /** Directories of the host that hold what the container writes; null when only Docker may look at them. */
  readonly directories: readonly string[] | null;
};

type Watched = { readonly workerId: string; readonly bounds: readonly Bound[]; dueAt: number };

export class DiskWatch {
  readonly #docker: Dockerode;
  readonly #intervalMs: number;
  readonly #log: AgentLog | undefined;
  readonly #watch: ContainerWatch;
  readonly #watched = new Map<string, Watched>();
  /** Pods that have more in their volume than they may. */
  readonly #overfull = new Set<string>();

  constructor(
    docker: Dockerode,
    hostId: string,
    options: { intervalMs?: number | undefined; log?: AgentLog | undefined },
  ) {
    this.#docker = docker;
    this.#intervalMs = options.intervalMs ?? CHECK_MIN_MS;
    this.#log = options.log;
    this.#watch = new ContainerWatch(docker, hostId, {
      intervalMs: this.#intervalMs,
      look: (containers) => this.#check(containers),
      onFailure: (error) => this.#logFailure(error),
    });
  }

  /** Why the agent ended a container; undefined when the agent did not end it. */
  reasonOf(containerId: string): string | undefined {
    return this.#watch.reasonOf(containerId);
  }

  /** Bytes that may be in the volume of a pod that starts, where they are more than its limit; else 0 (W4). */
  async allowedVolumeBytes(workerId: string, volumePath: string): Promise<number> {
    if (!this.#overfull.has(workerId)) return 0;
    const bytes = await diskUsage([volumePath]).catch(() => null);
    return bytes === null ? 0 : bytes + GROWTH_BYTES;
  }

  /** Watches until `stop`; more than one call does no harm. */
  start(): void {
    this.#watch.start();
  }

  stop(): void {
    this.#watch.stop();
  }

  async #check(containers: readonly Dockerode.ContainerInfo[]): Promise<void> {
    const present = new Set(containers.map(({ Id }) => Id));
    for (const id of this.#watched.keys()) if (!present.has(id)) this.#watched.delete(id);
    for (const container of containers.filter(({ State }) => State === "running")) {
      if (this.#watch.isStopped) return;
      await this.#checkContainer(container).catch((error: unknown) => {
        if (!isNotFound(error)) this.#logFailure(error);
      });
    }
  }

  async #checkContainer(container: Dockerode.ContainerInfo): Promise<void> {
    const watched = this.#watched.get(container.Id) ?? (await this.#follow(container));
    if (watched === null || watched.dueAt > performance.now()) return;
    let leastFree = Number.POSITIVE_INFINITY;
    for (const bound of watched.bounds) {
      const bytes = await this.#measure(container.Id, bound);
      leastFree = Math.min(leastFree, bound.allowedBytes - bytes);
      if (bound.setting === "volumeInGb") this.#note(watched.workerId, bytes > bound.limitBytes);
      if (bytes > bound.allowedBytes) await this.#end(container.Id, watched.workerId, overDisk(bytes, bound));
      bound.allowedBytes = Math.max(bound.limitBytes, Math.min(bound.allowedBytes, bytes + GROWTH_BYTES));
    }
    watched.dueAt = performance.now() + nextCheckMs(leastFree, this.#intervalMs);
  }

  #note(workerId: string, isOverfull: boolean): void {
    if (isOverfull) this.#overfull.add(workerId);
    else this.#overfull.delete(workerId);
  }

  async #follow({ Id, Labels }: Dockerode.ContainerInfo): Promise<Watched | null> {
    const workerId = ownerOfLabels(Labels)?.workerId;
    if (workerId === undefined) return null;
    const { GraphDriver, Mounts } = await this.#docker.getContainer(Id).inspect();
    const bounds = [diskBound(Labels, GraphDriver?.Data ?? {}, Mounts), volumeBound(Labels, Mounts)];
    const watched: Watched = {
      workerId,
      bounds: bounds.filter(({ limitBytes }) => limitBytes > 0),
      dueAt: 0,
    };
    this.#watched.set(Id, watched);
    return watched;
  }

  async #measure(containerId: string, { directories }: Bound): Promise<number> {
    const bytes = directories && (await diskUsage(directories).catch(() => null));
    if (bytes !== null) return bytes;
    const withSize: object = { size: true };
    return sizeSchema.parse(await this.#docker.getContainer(containerId).inspect(withSize)).SizeRw;
  }

  async #end(containerId: string, workerId: string, reason: string): Promise<void> {
    this.#log?.warn("worker_over_disk", { workerId, reason });
    await this.#watch.end(containerId, reason);
  }

  #logFailure(error: unknown): void {
    if (!this.#watch.isStopped) this.#log?.warn("disk_watch_failed", { reason: String(error) });
  }
}

type Mounts = Dockerode.ContainerInspectInfo["Mounts"];
type Labels = Dockerode.ContainerInfo["Labels"];

function diskBound(labels: Labels, driverData: object, mounts: Mounts): Bound {
  const { UpperDir: upper } = driverDataSchema.parse(driverData);
  const volumes = mounts.filter(({ Type }) => Type === "volume").map(({ Source }) => Source);
  const directories = upper === undefined ? null : [upper, ...volumes];
  const limitBytes = diskBytesOfLabels(labels);
  return { setting: "containerDiskInGb", limitBytes, allowedBytes: limitBytes, directories };
}

/** A pod has its local volume as the only directory that is mounted for writing. */
function volumeBound(labels: Labels, mounts: Mounts): Bound {
  const directories = mounts.filter(({ Type, RW }) => Type === "bind" && RW).map(({ Source }) => Source);
  const limitBytes = volumeBytesOfLabels(labels);
  const allowedBytes = Math.max(limitBytes, allowedVolumeBytesOfLabels(labels));
  return { setting: "volumeInGb", limitBytes, allowedBytes, directories };
}

export function overDisk(
  bytes: number,
  { setting, limitBytes }: Pick<Bound, "setting" | "limitBytes">,
): string {
  const written = Math.round(bytes / 1e8) / 10;
  const advice = setting === "volumeInGb" ? " (started again, it may delete files, but not write more)" : "";
  return `was ended: it wrote ${written} GB, ${setting} is ${limitBytes / 1e9}${advice}`;
}

/** W2 */
export function nextCheckMs(freeBytes: number, leastMs: number): number {
  return Math.min(CHECK_MAX_MS, Math.max(leastMs, freeBytes / FASTEST_BYTES_PER_MS));
}

/** Bytes that directories take on their disks, without what is mounted inside of them. */
async function diskUsage(directories: readonly string[]): Promise<number | null> {
  const command = ["-skx", "--", ...directories];
  const stdout = await run("du", command, { timeout: MEASURE_LIMIT_MS }).then(
    (done) => done.stdout,
    // Files that vanish meanwhile make it fail, and the sum is there all the same.
    (error: unknown) => (isVanishing(error) ? error.stdout : ""),
  );
  const sums = [...stdout.matchAll(/^(\d+)\t/gm)].map(([, kilobytes]) => Number(kilobytes) * 1_024);
  return sums.length === directories.length ? sums.reduce((sum, bytes) => sum + bytes, 0) : null;
}

function isVanishing(error: unknown): error is { readonly stdout: string } {
  if (!(error instanceof Error) || !("stderr" in error) || !("stdout" in error)) return false;
  return typeof error.stdout === "string" && !/permission denied/i.test(String(error.stderr));
}
