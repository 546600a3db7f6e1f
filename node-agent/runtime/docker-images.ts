/** The images of a host with Docker: how they come, how long they stay, and what they are by their content. */
import type Dockerode from "dockerode";
import {
  DISK_RESERVE_DEFAULT_GB,
  IMAGE_CHECK_LIMIT_MS,
  PULL_PROGRESS_MS,
  PULL_STALL_MS,
} from "../../src/contract/limits.ts";
import type { AgentLog } from "../log.ts";
import type { CacheTerms } from "./cache-shelf.ts";
import { freeBytesReader } from "./docker-root.ts";
import { ImageCache } from "./image-cache.ts";
import { imageDigestOf } from "./image-digest.ts";
import { ImageStore } from "./image-store.ts";
import type { PrepareOutcome, WorkerSpec } from "./runtime.ts";

export type ImageTerms = {
  readonly stallMs: number;
  readonly checkLimitMs: number;
  readonly progressMs: number;
  readonly reserveBytes: number;
  /** Free space where Docker keeps images, in bytes; null when it cannot be told. */
  readonly freeBytes: () => Promise<number | null>;
  /** Time between two looks at the disk while nothing is pulled. */
  readonly tendMs: number;
};

const GIGABYTE = 1_000_000_000;

const TERMS: Omit<ImageTerms, "freeBytes"> = {
  stallMs: PULL_STALL_MS,
  checkLimitMs: IMAGE_CHECK_LIMIT_MS,
  progressMs: PULL_PROGRESS_MS,
  reserveBytes: DISK_RESERVE_DEFAULT_GB * GIGABYTE,
  tendMs: 60_000,
};

const NEVER = new AbortController().signal;
const NO_LOG: AgentLog = { info: () => {}, warn: () => {}, error: () => {} };

/** `streams`: for pulls, which may take long. */
export type DockerClients = { readonly docker: Dockerode; readonly streams: Dockerode };

export class DockerImages {
  readonly #clients: DockerClients;
  readonly #log: AgentLog;
  readonly #terms: ImageTerms;
  readonly #store: ImageStore;
  #cache: ImageCache | null = null;
  #tending: NodeJS.Timeout | undefined;

  constructor(clients: DockerClients, log: AgentLog = NO_LOG, terms: Partial<ImageTerms> = {}) {
    this.#clients = clients;
    this.#log = log;
    this.#terms = { ...TERMS, freeBytes: freeBytesReader(clients.docker), ...terms };
    const { stallMs, checkLimitMs, progressMs } = this.#terms;
    this.#store = new ImageStore({ ...clients, log, stallMs, checkLimitMs, progressMs });
  }

  /** Gets the worker's image onto this host unless it is there already. */
  prepare(spec: WorkerSpec, onProgress: (detail: string) => void, signal = NEVER): Promise<PrepareOutcome> {
    const neededBytes = spec.containerDiskInGb * GIGABYTE;
    return this.#store.ensure({ ...spec, neededBytes }, onProgress, signal);
  }

  /** From here on pulled images are remembered, and removed when the disk gets full. */
  keepOn(cacheTerms: CacheTerms): void {
    const { reserveBytes, freeBytes, tendMs } = this.#terms;
    const { docker } = this.#clients;
    this.#cache = new ImageCache({ docker, log: this.#log, reserveBytes, freeBytes }, cacheTerms);
    const cache = this.#cache;
    this.#store.keepIn(cache);
    this.#tending = setInterval(() => void cache.makeRoom(0).catch(() => {}), tendMs); // the next look tries again
    this.#tending.unref();
  }

  /** Disk that kept images would give back if there were need of it, in bytes. */
  async freeableBytes(): Promise<number> {
    return (await this.#cache?.freeableBytes().catch(() => 0)) ?? 0;
  }

  /** By what content a container runs its image. */
  digestOf(container: Dockerode.ContainerInspectInfo): Promise<string | null> {
    return imageDigestOf(this.#clients.docker, container);
  }

  close(): void {
    clearInterval(this.#tending);
  }
}
