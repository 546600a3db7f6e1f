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
import { DiskRoom } from "./disk-room.ts";
import { freeBytesReader } from "./docker-root.ts";
import { ImageCache } from "./image-cache.ts";
import { imageDigestOf } from "./image-digest.ts";
import { ImageStore } from "./image-store.ts";
import type { RegistryTerms } from "./registry-reach.ts";
import type { PrepareOutcome, WorkerSpec } from "./runtime.ts";

export type ImageTerms = {
  readonly stallMs: number;
  readonly checkLimitMs: number;
  readonly progressMs: number;
  readonly reserveBytes: number;
  /** Free space where Docker keeps images, in bytes; null when it cannot be told. */
  readonly freeBytes: () => Promise<number | null>;
  /** Time between two looks at the disk while nothing comes. */
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
  /** Where Docker keeps images. */
  readonly room: DiskRoom;

  constructor(
    clients: DockerClients,
    registries: RegistryTerms,
    log: AgentLog = NO_LOG,
    terms: Partial<ImageTerms> = {},
  ) {
    this.#clients = clients;
    this.#log = log;
    this.#terms = { ...TERMS, freeBytes: freeBytesReader(clients.docker), ...terms };
    const { stallMs, checkLimitMs, progressMs, freeBytes, reserveBytes, tendMs } = this.#terms;
    this.room = new DiskRoom({ freeBytes, reserveBytes, tendMs });
    this.#store = new ImageStore({ ...clients, log, stallMs, checkLimitMs, progressMs, registries });
  }

  /** Gets the worker's image onto this host unless it is there already. */
  prepare(spec: WorkerSpec, onProgress: (detail: string) => void, signal = NEVER): Promise<PrepareOutcome> {
    const neededBytes = spec.containerDiskInGb * GIGABYTE;
    return this.#store.ensure({ ...spec, neededBytes }, onProgress, signal);
  }

  /** From here on pulled images are remembered, and removed when the disk gets full. */
  keepOn(cacheTerms: CacheTerms): void {
    const cache = new ImageCache({ docker: this.#clients.docker, log: this.#log }, cacheTerms);
    this.#store.keepIn(cache, this.room);
    this.room.add(cache);
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
    this.room.close();
  }
}
