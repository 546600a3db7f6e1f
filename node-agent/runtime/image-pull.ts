import type Dockerode from "dockerode";
import { z } from "zod";
import { invalidImageName, isNotFound, pullFailure } from "./docker-errors.ts";
import { jsonLines } from "./json-lines.ts";
import type { PrepareOutcome, WorkerSpec } from "./runtime.ts";

const pullMessageSchema = z.object({
  id: z.string().optional(),
  status: z.string().optional(),
  error: z.string().optional(),
});
type PullMessage = z.infer<typeof pullMessageSchema>;

const WAITING_STATUS = "Pulling fs layer";
const FINISHED_STATUSES = new Set(["Pull complete", "Already exists"]);

/** Counts the layers of an image as they arrive. */
export class PullProgress {
  readonly #imageName: string;
  readonly #isFinishedByLayer = new Map<string, boolean>();

  constructor(imageName: string) {
    this.#imageName = imageName;
  }

  take({ id, status }: PullMessage): void {
    if (id === undefined || status === undefined) return;
    if (FINISHED_STATUSES.has(status)) this.#isFinishedByLayer.set(id, true);
    // The tag comes with an id, too; only a layer is announced as such.
    else if (status === WAITING_STATUS) this.#isFinishedByLayer.set(id, false);
  }

  get detail(): string {
    const layers = [...this.#isFinishedByLayer.values()];
    if (layers.length === 0) return `pulling image ${this.#imageName}`;
    const finishedCount = layers.filter((isFinished) => isFinished).length;
    return `pulling image ${this.#imageName}: ${finishedCount} of ${layers.length} layers`;
  }
}

/** Characters of an image name; the rest of its grammar is the daemon's to judge. */
const IMAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:@-]*(\/[A-Za-z0-9][A-Za-z0-9_.:@-]*)*$/;

type ImageRequest = Pick<WorkerSpec, "imageName" | "registryAuth">;

/** Gets an image onto this host unless it is there already. */
export async function ensureImage(
  docker: Dockerode,
  request: ImageRequest,
  onProgress: (detail: string) => void,
): Promise<PrepareOutcome> {
  if (!IMAGE_NAME.test(request.imageName)) {
    return { kind: "failed", detail: invalidImageName(request.imageName) };
  }
  try {
    if (!(await hasImage(docker, request.imageName))) await pullImage(docker, request, onProgress);
    return { kind: "prepared" };
  } catch (error) {
    return { kind: "failed", detail: pullFailure(request, error) };
  }
}

async function hasImage(docker: Dockerode, imageName: string): Promise<boolean> {
  try {
    await docker.getImage(imageName).inspect();
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function pullImage(
  docker: Dockerode,
  { imageName, registryAuth }: ImageRequest,
  onProgress: (detail: string) => void,
): Promise<void> {
  const progress = new PullProgress(imageName);
  let lastDetail = progress.detail;
  onProgress(lastDetail);
  const stream = await docker.pull(imageName, authOptions(imageName, registryAuth));
  for await (const line of jsonLines(stream)) {
    const message = pullMessageSchema.parse(line);
    if (message.error !== undefined) throw new Error(message.error);
    progress.take(message);
    if (progress.detail === lastDetail) continue;
    lastDetail = progress.detail;
    onProgress(lastDetail);
  }
}

function authOptions(imageName: string, auth: ImageRequest["registryAuth"]): object {
  if (auth === null) return {};
  const { username, password } = auth;
  return { authconfig: { username, password, serveraddress: registryOf(imageName) } };
}

/** Registry that an image name points to. */
export function registryOf(imageName: string): string {
  const [first = "", ...rest] = imageName.split("/");
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  return isRegistry ? first : "https://index.docker.io/v1/";
}
