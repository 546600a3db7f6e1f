import * as z from "zod";
import { formatProgress } from "../../core/format.ts";

/** A progress event of the daemon during a pull. */
export const pullMessageSchema = z.object({
  id: z.string().optional(),
  status: z.string().optional(),
  progressDetail: z
    .object({ current: z.number().optional(), total: z.number().optional() })
    .nullish()
    .transform((detail) => detail ?? {}),
  error: z.string().optional(),
});
export type PullMessage = z.infer<typeof pullMessageSchema>;

type Layer = {
  isFinished: boolean;
  /** Null until its download begins: before that the daemon does not report it. */
  totalBytes: number | null;
  loadedBytes: number;
};

const ANNOUNCED = "Pulling fs layer";
const FINISHED = new Set(["Pull complete", "Already exists"]);
const LOADED = new Set(["Verifying Checksum", "Download complete", "Extracting"]);
/** Repeated while nothing arrives. */
const IDLE = /^(Waiting|Retrying)/;

/** The progress of a pull, from the events of the daemon. */
export class PullProgress {
  readonly #imageName: string;
  readonly #layers = new Map<string, Layer>();
  readonly #lastMessages = new Map<string, string>();

  constructor(imageName: string) {
    this.#imageName = imageName;
  }

  /** Takes a message in. True when the pull has got further by it. */
  take({ id, status, progressDetail }: PullMessage): boolean {
    if (status === undefined) return false;
    this.#takeLayer(id, status, progressDetail);
    const message = `${status} ${progressDetail.current ?? ""}`;
    const isNew = this.#lastMessages.get(id ?? "") !== message;
    this.#lastMessages.set(id ?? "", message);
    return isNew && !IDLE.test(status);
  }

  /** The registry has named layers: there is an image that is not the one of this host. */
  get hasLayers(): boolean {
    return this.#layers.size > 0;
  }

  get detail(): string {
    const layers = [...this.#layers.values()];
    if (layers.length === 0) return `pulling image ${this.#imageName}`;
    const finished = layers.filter(({ isFinished }) => isFinished).length;
    return `pulling image ${this.#imageName}: ${finished} of ${layers.length} layers${bytesOf(layers)}`;
  }

  #takeLayer(id: string | undefined, status: string, detail: PullMessage["progressDetail"]): void {
    if (id === undefined) return;
    const known = this.#layers.get(id);
    // The tag has an id, too; only a layer is announced as one.
    if (!known && status !== ANNOUNCED && !FINISHED.has(status)) return;
    const layer = known ?? { isFinished: false, totalBytes: null, loadedBytes: 0 };
    this.#layers.set(id, layer);
    advance(layer, status, detail);
  }
}

function advance(layer: Layer, status: string, detail: PullMessage["progressDetail"]): void {
  if (status === "Downloading") {
    layer.loadedBytes = detail.current ?? 0;
    layer.totalBytes = detail.total ?? layer.totalBytes;
  }
  if (FINISHED.has(status) || LOADED.has(status)) {
    layer.totalBytes ??= detail.total ?? 0; // so small that its download was never reported, or here before
    layer.loadedBytes = layer.totalBytes;
  }
  layer.isFinished ||= FINISHED.has(status);
}

function bytesOf(layers: readonly Layer[]): string {
  const total = sum(layers.map(({ totalBytes }) => totalBytes ?? 0));
  if (total === 0) return "";
  const loaded = sum(layers.map(({ loadedBytes }) => loadedBytes));
  const isMore = layers.some(({ totalBytes }) => totalBytes === null);
  return `, ${formatProgress(loaded, total, isMore)}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
