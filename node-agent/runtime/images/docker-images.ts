/** The images of a host with Docker: how they come, how long they stay, and what they are by their content. */
import type Dockerode from "dockerode";
import {
  DISK_RESERVE_DEFAULT_GB,
  IMAGE_CHECK_LIMIT_MS,
  PULL_PROGRESS_MS,
  PULL_STALL_MS,
} from "../../../src/contract/limits.ts";
import type { AgentLog } from "../../log.ts";
import type { CacheOptions } from "./cached-images.ts";
import { DiskSpace } from "../../disk/disk-space.ts";
import { freeBytesReader } from "../docker/docker-root.ts";
import { ImageCache } from "./image-cache.ts";
import { imageDigestOf } from "./image-digest.ts";
import { ImageStore } from "./image-store.ts";
import type { RegistryPolicy } from "./registry-access.ts";
import type { PrepareOutcome, WorkerSpec } from "../runtime.ts";

export type ImageOptions = {
  readonly stallMs: number;
  readonly checkLimitMs: number;
  readonly progressMs: number;
  readonly reserveBytes: number;
  /** Free space where Docker keeps images, in bytes; null when it cannot be told. */
  readonly freeBytes: () => Promise<number | null>;
  /** Time between two looks at the disk while nothing comes. */
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
const NO_LOG: AgentLog = { info: () => {}, warn: () => {}, error: () => {} };

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
    log: AgentLog = NO_LOG,
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

  /** What an image of this host sets a variable to; empty for nothing. */
  async variableOf(imageName: string, name: string): Promise<string> {
    const { Config } = await this.#clients.docker.getImage(imageName).inspect();
    const prefix = `${name}=`;
    return Config.Env?.find((variable) => variable.startsWith(prefix))?.slice(prefix.length) ?? "";
  }

  /** By what content a container runs its image. */
  digestOf(container: Dockerode.ContainerInspectInfo): Promise<string | null> {
    return imageDigestOf(this.#clients.docker, container);
  }

  close(): void {
    this.disk.close();
  }
}
