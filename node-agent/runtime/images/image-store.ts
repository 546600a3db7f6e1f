/**
 * Pulls images onto this host.
 *
 * S1  A cached image is used as it is. Only for a tag that the agent has pulled itself, it queries the registry again
 *     at the first start of each version: the tag may have moved to another image.
 * S2  An unreachable registry does not prevent a start: the cached image is used, with a warning. Once the registry
 *     has named another image, the old one is not started in its place.
 */
import type Dockerode from "dockerode";
import type { AgentLog } from "../../core/log.ts";
import { type DiskSpace, isNoSpace } from "../../disk/disk-space.ts";
import { invalidImageName, pullFailure, stalledPull } from "../daemon/docker-errors.ts";
import { findImage, type FoundImage, type ImageCache } from "./image-cache.ts";
import { isImageName, isPinned } from "./image-name.ts";
import { type ImageRequest, PullError, pullImage } from "./image-pull.ts";
import { registryDenial, type RegistryPolicy } from "./registry-access.ts";
import type { PrepareOutcome, WorkerSpec } from "../interface/runtime.ts";
import { SharedWork } from "../../core/shared-work.ts";

export type ImageStoreOptions = {
  readonly docker: Dockerode;
  /** For pulls, which take their time. */
  readonly streams: Dockerode;
  readonly log: AgentLog;
  readonly stallMs: number;
  /** The same for a look whether a tag has moved, while the image is here. */
  readonly checkLimitMs: number;
  readonly progressMs: number;
  readonly registries: RegistryPolicy;
};

export type StoreRequest = ImageRequest &
  Pick<WorkerSpec, "endpointId" | "revision"> & {
    /** Disk that the worker may take beside its image. */
    readonly neededBytes: number;
  };

/** This host does not use the registry; the message gives the reason. */
class RegistryDenied extends Error {}

export class ImageStore {
  readonly #options: ImageStoreOptions;
  readonly #pulls: SharedWork<ImageRequest>;
  readonly #checks: SharedWork<ImageRequest>;
  /** The version of each endpoint for which the registry was last queried. */
  readonly #checkedVersions = new Map<string, string>();
  #cache: ImageCache | null = null;
  #disk: DiskSpace | null = null;
  #hostArchitecture: string | null = null;

  constructor(options: ImageStoreOptions) {
    this.#options = options;
    const { streams, stallMs, checkLimitMs, progressMs } = options;
    const pullsWithin = (answerLimitMs: number): SharedWork<ImageRequest> => {
      const limits = { stallMs, answerLimitMs };
      return new SharedWork({
        keyOf: keyOfPull,
        work: (request, pull) => pullImage(streams, request, { ...pull, ...limits }),
        intervalMs: progressMs,
      });
    };
    this.#pulls = pullsWithin(stallMs);
    this.#checks = pullsWithin(checkLimitMs);
  }

  /** From here on pulled images are remembered, and removed when the disk gets full. */
  useCache(cache: ImageCache, disk: DiskSpace): void {
    this.#cache = cache;
    this.#disk = disk;
  }

  /** Gets an image onto this host unless it is there already; ends early when aborted. */
  async ensure(
    request: StoreRequest,
    onProgress: (detail: string) => void,
    signal: AbortSignal,
  ): Promise<PrepareOutcome> {
    const { imageName } = request;
    if (!isImageName(imageName)) return { kind: "failed", detail: invalidImageName(imageName) };
    const work = (): Promise<PrepareOutcome> => this.#ensure(request, onProgress, signal);
    try {
      return await (this.#cache?.protectWhile(imageName, work) ?? work());
    } catch (error) {
      return { kind: "failed", detail: this.#failureMessage(request, error) };
    }
  }

  async #ensure(
    request: StoreRequest,
    onProgress: (detail: string) => void,
    signal: AbortSignal,
  ): Promise<PrepareOutcome> {
    const { imageName } = request;
    const before = await findImage(this.#options.docker, imageName);
    this.#cache?.recordUse(imageName);
    await this.#disk?.ensureFree(request.neededBytes); // placement counts what may be removed as free
    if (before && !this.#mustCheck(request, before)) return this.#prepared(before);
    if (before) return this.#refresh(request, before, onProgress, signal);
    return this.#prepared(await this.#pull(request, null, onProgress, signal));
  }

  /** Some hosts can run what is built for others, so it is tried. */
  async #prepared({ architecture }: FoundImage): Promise<PrepareOutcome> {
    this.#hostArchitecture ??= (await this.#options.docker.version()).Arch;
    const isStrange = architecture !== "" && architecture !== this.#hostArchitecture;
    if (!isStrange) return { kind: "prepared" };
    const warning = `The image is built for ${architecture} processors, and this host's is ${this.#hostArchitecture}.`;
    return { kind: "prepared", warning };
  }

  #mustCheck({ imageName, endpointId, revision }: StoreRequest, image: FoundImage): boolean {
    if (isPinned(imageName) || !this.#cache?.isOwn(imageName, image)) return false;
    return this.#checkedVersions.get(endpointId) !== versionKey(revision, imageName);
  }

  async #refresh(
    request: StoreRequest,
    before: FoundImage,
    onProgress: (detail: string) => void,
    signal: AbortSignal,
  ): Promise<PrepareOutcome> {
    try {
      return await this.#prepared(await this.#pull(request, before, onProgress, signal));
    } catch (error) {
      if (signal.aborted || (error instanceof PullError && error.isOfOther)) throw error; // S2
      this.#recordCheck(request);
      const why = this.#failureMessage(request, error);
      return { kind: "prepared", warning: `The image that is on this host is used as it is. ${why}` };
    }
  }

  async #pull(
    request: StoreRequest,
    before: FoundImage | null,
    onProgress: (detail: string) => void,
    signal: AbortSignal,
  ): Promise<FoundImage> {
    const { docker, log } = this.#options;
    const { imageName } = request;
    const beganAt = performance.now();
    await this.#requireOpenRegistry(imageName);
    const pulls = before ? this.#checks : this.#pulls;
    for (;;) {
      try {
        await pulls.share(request, onProgress, signal);
        break;
      } catch (error) {
        const mayHelp = isNoSpace(error instanceof PullError ? error.cause : error);
        if (!mayHelp || !(await this.#disk?.evictOne())) throw error;
      }
    }
    this.#recordCheck(request);
    const image = await findImage(docker, imageName);
    if (!image) throw new Error("the pull ended without the image");
    this.#cache?.recordPull(imageName, image, before);
    if (image.id !== before?.id) {
      const { id, sizeBytes } = image;
      const durationMs = Math.round(performance.now() - beganAt);
      log.info("image_pulled", { image: imageName, id, sizeBytes, durationMs });
    }
    return image;
  }

  async #requireOpenRegistry(imageName: string): Promise<void> {
    const denial = await registryDenial(imageName, this.#options.registries);
    if (denial !== null) throw new RegistryDenied(denial);
  }

  #recordCheck({ endpointId, revision, imageName }: StoreRequest): void {
    this.#checkedVersions.set(endpointId, versionKey(revision, imageName));
  }

  #failureMessage(request: StoreRequest, error: unknown): string {
    if (error instanceof RegistryDenied) return error.message;
    if (error instanceof PullError && error.stalledForMs !== null)
      return stalledPull(request.imageName, error.stalledForMs);
    const { message, answer } = pullFailure(request, error instanceof PullError ? error.cause : error);
    // The answer of a server that a template names is shown to the owner of this host only.
    this.#options.log.warn("image_not_pulled", { image: request.imageName, detail: answer });
    return message;
  }
}

function versionKey(revision: number, imageName: string): string {
  return `${revision} ${imageName}`;
}

/** The same image by the same login. */
function keyOfPull({ imageName, registryAuth, platform }: ImageRequest): string {
  return JSON.stringify([imageName, registryAuth?.username, registryAuth?.password, platform]);
}
