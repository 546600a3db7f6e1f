import type Dockerode from "dockerode";
import { registryOf } from "./image-name.ts";
import { jsonLines } from "../daemon/docker-calls.ts";
import { pullMessageSchema, PullProgress } from "./pull-progress.ts";
import type { WorkerSpec } from "../interface/runtime.ts";

export type ImageRequest = Pick<WorkerSpec, "imageName" | "registryAuth"> & {
  /** Such as linux/amd64; by default the daemon's own. */
  readonly platform?: string | undefined;
};

export type PullOptions = {
  /** Aborts the pull. */
  readonly signal: AbortSignal;
  /** Time without any progress after which the pull is given up. */
  readonly stallMs: number;
  /** The same until the registry has sent the image's list of layers. */
  readonly answerLimitMs: number;
  readonly onProgress: (detail: string) => void;
};

/** A pull that did not complete. */
export class PullError extends Error {
  override readonly name = "PullError";
  /** The registry has named an image that is not the one of this host. */
  readonly isOfOther: boolean;
  /** Time for which nothing came, when that is why it was given up. */
  readonly stalledForMs: number | null;

  constructor(isOfOther: boolean, stalledForMs: number | null, cause: unknown) {
    super("The pull failed.", { cause });
    this.isOfOther = isOfOther;
    this.stalledForMs = stalledForMs;
  }
}

/** Gives up after a time in which nothing was heard. */
class IdleTimeout {
  readonly #lost = new AbortController();
  #limitMs: number;
  #timer: NodeJS.Timeout;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    this.#timer = this.#start();
  }

  get expired(): AbortSignal {
    return this.#lost.signal;
  }

  get limitMs(): number {
    return this.#limitMs;
  }

  renew(limitMs: number): void {
    clearTimeout(this.#timer);
    this.#limitMs = limitMs;
    this.#timer = this.#start();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #start(): NodeJS.Timeout {
    return setTimeout(() => this.#lost.abort(), this.#limitMs);
  }
}

/** Asks the registry for an image, and loads what this host does not have of it. Throws a PullError. */
export async function pullImage(
  docker: Dockerode,
  { imageName, registryAuth, platform }: ImageRequest,
  { signal, stallMs, answerLimitMs, onProgress }: PullOptions,
): Promise<void> {
  const progress = new PullProgress(imageName);
  onProgress(progress.detail);
  const idleTimeout = new IdleTimeout(answerLimitMs);
  // Not AbortSignal.any: Node 20 forgets such a signal while it is waited for.
  const ending = new AbortController();
  const end = (): void => ending.abort();
  signal.addEventListener("abort", end);
  idleTimeout.expired.addEventListener("abort", end);
  if (signal.aborted) end();
  try {
    const { signal: abortSignal } = ending;
    const auth = authOptions(imageName, registryAuth);
    const stream = await docker.pull(imageName, { ...auth, ...(platform && { platform }), abortSignal });
    for await (const line of jsonLines(stream)) {
      const message = pullMessageSchema.parse(line);
      if (message.error !== undefined) throw new Error(message.error);
      if (progress.take(message)) idleTimeout.renew(progress.hasLayers ? stallMs : answerLimitMs);
      onProgress(progress.detail);
    }
  } catch (error) {
    const stalledForMs = idleTimeout.expired.aborted ? idleTimeout.limitMs : null;
    throw new PullError(progress.hasLayers, stalledForMs, error);
  } finally {
    signal.removeEventListener("abort", end);
    idleTimeout.end();
  }
}

function authOptions(imageName: string, auth: ImageRequest["registryAuth"]): object {
  if (auth === null) return {};
  const { username, password } = auth;
  return { authconfig: { username, password, serveraddress: registryOf(imageName) } };
}
