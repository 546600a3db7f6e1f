/**
 * Gets images onto this host.
 *
 * S1  An image that is here is used as it is. Only of a tag that the agent has pulled itself, the registry is asked
 *     anew at the first start of each release: it may mean another image by now.
 * S2  Whoever cannot be asked is no reason not to start: the image that is here is used, and that is said.
 *     Once the registry has named another image, the old one is not started in its place.
 */
import type Dockerode from "dockerode";
import type { AgentLog } from "../log.ts";
import type { DiskRoom } from "./disk-room.ts";
import { invalidImageName, isNoSpace, pullFailure, stalledPull } from "./docker-errors.ts";
import { findImage, type FoundImage, type ImageCache } from "./image-cache.ts";
import { isImageName, isPinned } from "./image-name.ts";
import { type ImageRequest, PullError, pullImage } from "./image-pull.ts";
import { registryRefusal, type RegistryTerms } from "./registry-reach.ts";
import type { PrepareOutcome, WorkerSpec } from "./runtime.ts";
import { SharedWork } from "./shared-work.ts";

export type ImageStoreOptions = {
  readonly docker: Dockerode;
  /** For pulls, which take their time. */
  readonly streams: Dockerode;
  readonly log: AgentLog;
  readonly stallMs: number;
  /** The same for a look whether a tag has moved, while the image is here. */
  readonly checkLimitMs: number;
  readonly progressMs: number;
  readonly registries: RegistryTerms;
};

export type StoreRequest = ImageRequest &
  Pick<WorkerSpec, "endpointId" | "revision"> & {
    /** Disk that the worker may take beside its image. */
    readonly neededBytes: number;
  };

/** The registry is one that this host does not ask; the message says why. */
class RegistryRefused extends Error {}

export class ImageStore {
  readonly #options: ImageStoreOptions;
  readonly #pulls: SharedWork<ImageRequest>;
  readonly #checks: SharedWork<ImageRequest>;
  /** The release of each endpoint for which the registry was asked last. */
  readonly #askedFor = new Map<string, string>();
  #cache: ImageCache | null = null;
  #room: DiskRoom | null = null;
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
  keepIn(cache: ImageCache, room: DiskRoom): void {
    this.#cache = cache;
    this.#room = room;
  }

  /** Gets an image onto this host unless it is there already; ends early when called off. */
  async ensure(
    request: StoreRequest,
    onProgress: (detail: string) => void,
    signal: AbortSignal,
  ): Promise<PrepareOutcome> {
    const { imageName } = request;
    if (!isImageName(imageName)) return { kind: "failed", detail: invalidImageName(imageName) };
    const work = (): Promise<PrepareOutcome> => this.#ensure(request, onProgress, signal);
    try {
      return await (this.#cache?.holding(imageName, work) ?? work());
    } catch (error) {
      return { kind: "failed", detail: this.#wordsFor(request, error) };
    }
  }

  async #ensure(
    request: StoreRequest,
    onProgress: (detail: string) => void,
    signal: AbortSignal,
  ): Promise<PrepareOutcome> {
    const { imageName } = request;
    const before = await findImage(this.#options.docker, imageName);
    this.#cache?.noteUse(imageName);
    await this.#room?.make(request.neededBytes); // placement counts what may be removed as free
    if (before && !this.#mustAsk(request, before)) return this.#prepared(before);
    if (before) return this.#askAnew(request, before, onProgress, signal);
    return this.#prepared(await this.#pull(request, null, onProgress, signal));
  }

  /** Some hosts can run what is built for others, so it is tried. */
  async #prepared({ architecture }: FoundImage): Promise<PrepareOutcome> {
    this.#hostArchitecture ??= (await this.#options.docker.version()).Arch;
    const isStrange = architecture !== "" && architecture !== this.#hostArchitecture;
    if (!isStrange) return { kind: "prepared" };
    const note = `The image is built for ${architecture} processors, and this host's is ${this.#hostArchitecture}.`;
    return { kind: "prepared", note };
  }

  #mustAsk({ imageName, endpointId, revision }: StoreRequest, image: FoundImage): boolean {
    if (isPinned(imageName) || !this.#cache?.isOwn(imageName, image)) return false;
    return this.#askedFor.get(endpointId) !== releaseKey(revision, imageName);
  }

  async #askAnew(
    request: StoreRequest,
    before: FoundImage,
    onProgress: (detail: string) => void,
    signal: AbortSignal,
  ): Promise<PrepareOutcome> {
    try {
      return await this.#prepared(await this.#pull(request, before, onProgress, signal));
    } catch (error) {
      if (signal.aborted || (error instanceof PullError && error.isOfOther)) throw error; // S2
      this.#noteAsked(request);
      const why = this.#wordsFor(request, error);
      return { kind: "prepared", note: `The image that is on this host is used as it is. ${why}` };
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
        if (!mayHelp || !(await this.#room?.freeOne())) throw error;
      }
    }
    this.#noteAsked(request);
    const image = await findImage(docker, imageName);
    if (!image) throw new Error("the pull ended without the image");
    this.#cache?.notePulled(imageName, image, before);
    if (image.id !== before?.id) {
      const { id, sizeBytes } = image;
      const durationMs = Math.round(performance.now() - beganAt);
      log.info("image_pulled", { image: imageName, id, sizeBytes, durationMs });
    }
    return image;
  }

  async #requireOpenRegistry(imageName: string): Promise<void> {
    const refusal = await registryRefusal(imageName, this.#options.registries);
    if (refusal !== null) throw new RegistryRefused(refusal);
  }

  #noteAsked({ endpointId, revision, imageName }: StoreRequest): void {
    this.#askedFor.set(endpointId, releaseKey(revision, imageName));
  }

  #wordsFor(request: StoreRequest, error: unknown): string {
    if (error instanceof RegistryRefused) return error.message;
    if (error instanceof PullError && error.stalledForMs !== null)
      return stalledPull(request.imageName, error.stalledForMs);
    const { sentence, answer } = pullFailure(request, error instanceof PullError ? error.cause : error);
    // What a server says that a template has named is for the owner of this host alone.
    this.#options.log.warn("image_not_pulled", { image: request.imageName, detail: answer });
    return sentence;
  }
}

function releaseKey(revision: number, imageName: string): string {
  return `${revision} ${imageName}`;
}

/** The same image by the same login. */
function keyOfPull({ imageName, registryAuth }: ImageRequest): string {
  return JSON.stringify([imageName, registryAuth?.username, registryAuth?.password]);
}
