/** The last build of a project, as it lies in `.flash/`. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type FlashManifest, flashManifestSchema, MANIFEST_FILE } from "../../src/contract/flash-manifest.ts";
import { Failure } from "../failure.ts";

const ARTIFACT_FILE = "artifact.tar.gz";

export type Built = {
  readonly manifest: FlashManifest;
  readonly artifact: { readonly path: string; readonly sha256: string; readonly sizeBytes: number };
};

/** Nothing when there is none; throws a Failure when its manifest is damaged. */
export async function findBuilt(directory: string): Promise<Built | undefined> {
  const manifestPath = join(directory, ".flash", MANIFEST_FILE);
  const path = join(directory, ".flash", ARTIFACT_FILE);
  const [text, found] = await Promise.all([
    readFile(manifestPath, "utf8").catch(() => undefined),
    stat(path).catch(() => undefined),
  ]);
  if (text === undefined || found === undefined) return undefined;
  const manifest = flashManifestSchema.safeParse(jsonOf(text));
  if (!manifest.success) {
    throw new Failure(`${manifestPath} is no manifest that this command understands.`, [
      "Build the app anew: flash build",
    ]);
  }
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return {
    manifest: manifest.data,
    artifact: { path, sha256: hash.digest("hex"), sizeBytes: found.size },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
