/** The images of a host with Docker: pulls, the cache, and digests. */
import { PULL_PROGRESS_MS } from "../../core/shared-work.ts";
import type Dockerode from "dockerode";
import { type AgentLog, SILENT_LOG } from "../../core/log.ts";
import { DiskSpace, DISK_RESERVE_DEFAULT_GB } from "../../disk/disk-space.ts";
import { freeBytesReader, ignoring } from "../daemon/docker-calls.ts";
import { ImageCache } from "./image-cache.ts";
import { ImageStore } from "./image-store.ts";
import type { RegistryPolicy } from "./registry-access.ts";
import type { CacheOptions, PrepareOutcome, WorkerSpec } from "../interface/runtime.ts";
import { isNotFound } from "../daemon/docker-errors.ts";
import { repositoryOf } from "./image-name.ts";

/** Time without any progress after which the pull of an image is given up and begun again. */
const PULL_STALL_MS = 120_000;

/** Time without an answer of the registry to whether a tag has moved, while a usable image is cached. */
const IMAGE_CHECK_LIMIT_MS = 20_000;

export type ImageOptions = {
  readonly stallMs: number;
  readonly checkLimitMs: number;
  readonly progressMs: number;
  readonly reserveBytes: number;
  /** Free space where Docker stores images, in bytes; null when unknown. */
  readonly freeBytes: () => Promise<number | null>;
  /** Time between two checks of the disk while nothing arrives. */
  readonly checkIntervalMs: number;
};

const GIGABYTE = 1_000_000_000;

const DEFAULTS: Omit<ImageOptions, "freeBytes"> = {
  stallMs: PULL_STALL_MS,
  checkLimitMs: IMAGE_CHECK_LIMIT_MS,
  progressMs: PULL_PROGRESS_MS,
  reserveBytes: DISK_RESERVE_DEFAULT_GB * GIGABYTE,
  checkIntervalMs: 60_000,
};

const NEVER = new AbortController().signal;

/** `streams`: for pulls, which may take long. */
export type DockerClients = { readonly docker: Dockerode; readonly streams: Dockerode };

export class DockerImages {
  readonly #clients: DockerClients;
  readonly #log: AgentLog;
  readonly #options: ImageOptions;
  readonly #store: ImageStore;
  /** Where Docker keeps images. */
  readonly disk: DiskSpace;

  constructor(
    clients: DockerClients,
    registries: RegistryPolicy,
    log: AgentLog = SILENT_LOG,
    options: Partial<ImageOptions> = {},
  ) {
    this.#clients = clients;
    this.#log = log;
    this.#options = { ...DEFAULTS, freeBytes: freeBytesReader(clients.docker), ...options };
    const { stallMs, checkLimitMs, progressMs, freeBytes, reserveBytes, checkIntervalMs } = this.#options;
    this.disk = new DiskSpace({ freeBytes, reserveBytes, checkIntervalMs });
    this.#store = new ImageStore({ ...clients, log, stallMs, checkLimitMs, progressMs, registries });
  }

  /** Gets the worker's image onto this host unless it is there already; `platform` is Docker's own unless given. */
  prepare(
    spec: WorkerSpec & { readonly platform?: string | undefined },
    onProgress: (detail: string) => void,
    signal = NEVER,
  ): Promise<PrepareOutcome> {
    const neededBytes = spec.containerDiskInGb * GIGABYTE;
    return this.#store.ensure({ ...spec, neededBytes }, onProgress, signal);
  }

  /** From here on pulled images are remembered, and removed when the disk gets full. */
  configureCache(cacheOptions: CacheOptions): void {
    const cache = new ImageCache({ docker: this.#clients.docker, log: this.#log }, cacheOptions);
    this.#store.useCache(cache, this.disk);
    this.disk.add(cache);
  }

  /** An image of this host: its id, and what it sets PYTHONPATH to. */
  async factsOf(imageName: string): Promise<{ readonly id: string; readonly pythonPath: string }> {
    const { Id: id, Config } = await this.#clients.docker.getImage(imageName).inspect();
    const prefix = "PYTHONPATH=";
    const variable = Config.Env?.find((one) => one.startsWith(prefix));
    return { id, pythonPath: variable?.slice(prefix.length) ?? "" };
  }

  /** By what content a container runs its image. */
  digestOf(container: Dockerode.ContainerInspectInfo): Promise<string | null> {
    return imageDigestOf(this.#clients.docker, container);
  }

  close(): void {
    this.disk.close();
  }
}

/** By what content a container runs its image: the registry's digest, or the image's id where it came from none. */
export async function imageDigestOf(
  docker: Dockerode,
  container: Dockerode.ContainerInspectInfo,
): Promise<string | null> {
  const { Image: imageId, Config } = container;
  // It may have been removed by force under a container that runs.
  const found = await ignoring(isNotFound, docker.getImage(imageId).inspect());
  return digestIn(found?.RepoDigests ?? [], Config.Image) ?? imageId;
}

/** The digest under which an image came, of all under which the daemon knows it. */
export function digestIn(repoDigests: readonly string[], imageName: string): string | undefined {
  const repository = repositoryOf(imageName);
  return repoDigests.find((known) => known.startsWith(`${repository}@`))?.slice(repository.length + 1);
}
