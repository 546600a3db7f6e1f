/** Artifacts of a scripted edge, and what goes wrong on their way. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Artifact } from "../../src/contract/agent/artifact.ts";
import { artifactOf } from "./archive.ts";

export const ARTIFACT_PATH = /^\/agent\/v1\/artifacts\/([0-9a-f]{64})$/;

/** What becomes of one call. */
type Mishap =
  /** The connection breaks after so many bytes. */
  | { readonly kind: "break"; readonly after: number }
  /** Nothing comes any more after so many bytes. */
  | { readonly kind: "stall"; readonly after: number }
  /** Other bytes come, and as many. */
  | { readonly kind: "damage" }
  /** All of it comes, whatever was asked for. */
  | { readonly kind: "ignore_range" };

export class ScriptedArtifacts {
  /** Ranges that were asked for, in their order; "" for all. */
  readonly asked: string[] = [];
  /** What happens to the next calls; the others go well. */
  readonly mishaps: Mishap[] = [];
  readonly #archives = new Map<string, Buffer>();
  readonly #onCall: () => void;

  constructor(onCall: () => void) {
    this.#onCall = onCall;
  }

  add(archive: Buffer): Artifact {
    const artifact = artifactOf(archive);
    this.#archives.set(artifact.sha256, archive);
    return artifact;
  }

  serve(sha256: string, request: IncomingMessage, response: ServerResponse): void {
    const { range = "" } = request.headers;
    this.asked.push(range);
    this.#onCall();
    const archive = this.#archives.get(sha256);
    if (!archive) {
      const error = "This host's account has no such artifact.";
      return void response.writeHead(404).end(JSON.stringify({ error }));
    }
    const mishap = this.mishaps.shift();
    const from = mishap?.kind === "ignore_range" ? 0 : Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0);
    const bytes = archive.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, {
      "content-length": String(bytes.length),
      ...(from > 0 && { "content-range": `bytes ${from}-${archive.length - 1}/${archive.length}` }),
    });
    if (mishap?.kind === "damage") return void response.end(Buffer.alloc(bytes.length, 7));
    if (mishap?.kind !== "break" && mishap?.kind !== "stall") return void response.end(bytes);
    response.write(bytes.subarray(0, mishap.after), () => {
      // In a packet of its own, so that what came before it arrives.
      if (mishap.kind === "break") setImmediate(() => response.socket?.end());
    });
  }
}
