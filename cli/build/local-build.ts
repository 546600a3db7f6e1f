/** The last build of a project, in `.flash/`. */
import { parseJson } from "../../src/std/json.ts";
import * as z from "zod";
import {
  flashManifestSchema,
  type FlashManifest,
  MANIFEST_FILE,
} from "../../src/contract/flash/flash-manifest.ts";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { FLASH_DIRECTORY } from "../project/project.ts";
import { Failure } from "../../src/std/failure.ts";

/** The manifest in `.flash/`; `artifact` names the archive beside it. */
const storedManifestSchema = flashManifestSchema.extend({
  artifact: z.object({ file: z.string(), sha256: z.string() }),
});
export type StoredManifest = z.infer<typeof storedManifestSchema>;

export type LocalBuild = {
  readonly manifest: FlashManifest;
  readonly artifact: { readonly path: string; readonly sha256: string; readonly sizeBytes: number };
};

/** Undefined when there is no build; throws a Failure when its files are damaged or do not belong together. */
export async function findLocalBuild(directory: string): Promise<LocalBuild | undefined> {
  const manifestPath = join(directory, FLASH_DIRECTORY, MANIFEST_FILE);
  const json = await readFile(manifestPath, "utf8").catch(() => undefined);
  if (json === undefined) return undefined;
  const stored = storedManifestSchema.safeParse(parseJson(json));
  if (!stored.success) throw damaged(`${manifestPath} is not a manifest that this command understands.`);
  const { artifact, ...manifest } = stored.data;
  const path = join(directory, FLASH_DIRECTORY, basename(artifact.file));
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  if ((await sha256Of(path)) !== artifact.sha256) {
    throw damaged(`${path} is not the archive that ${MANIFEST_FILE} beside it names.`);
  }
  return { manifest, artifact: { path, sha256: artifact.sha256, sizeBytes: found.size } };
}

function damaged(message: string): Failure {
  return new Failure(message, ["Build the app again: flash build"]);
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
