/**
 * Where a host keeps the files of apps: <stateDirectory>/artifacts/
 *
 *   <sha256>/app/                 the files, as workers get them
 *   <sha256>/artifact.tar.gz      the archive that they came in
 *   <sha256>/size                 bytes of both; its time is that of the last use
 *   <sha256>/boot                 of this host, while they may still be in its memory alone
 *   <sha256>/compiled/<image>/    the files with bytecode for workers of an image; see compiled-app.ts
 *   incoming/<sha256>             what was downloaded of an archive so far
 *   unpacking/<sha256>-<chance>/  becomes <sha256>/ when it is whole
 *
 * What is there under its digest is whole: it got the name at the end, in one step. Only what was not on the disk yet
 * when the host lost its power may be broken, and is not used any more.
 */
import { ignoreFailure } from "../../src/std/errors.ts";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { sha256Schema } from "../../src/contract/agent/artifact.ts";
import { bootId } from "../host/boot-id.ts";
import { addBytecode, findCompiled, takesBytecode } from "./compiled-app.ts";
import { syncDisk } from "../host/sync-disk.ts";
import { unpack } from "./unpacking.ts";
import { formatSize } from "../core/format.ts";

const ARCHIVE = "artifact.tar.gz";
const SIZE = "size";
const BOOT = "boot";

/** The unpacked files of an app on this host, and the archive that they came in. */
export type ArtifactPlace = { readonly appPath: string; readonly archivePath: string };

/** Puts an archive with the bytecode of an app at a path. */
export type BytecodeWriter = (path: string, appPath: string) => Promise<void>;

/** What is kept: an app's files, or the beginning of an archive whose download was interrupted. */
export type StoredArtifact = {
  readonly sha256: string;
  readonly isComplete: boolean;
  readonly sizeBytes: number;
  readonly lastUsedAt: number;
};

export class ArtifactDirectory {
  readonly #root: string;

  constructor(stateDirectory: string) {
    this.#root = join(resolve(stateDirectory), "artifacts");
  }

  place(sha256: string): ArtifactPlace {
    return {
      appPath: join(this.#root, sha256, "app"),
      archivePath: join(this.#root, sha256, ARCHIVE),
    };
  }

  /** The same for a worker of an image, with its bytecode where that is here. */
  async placeFor(sha256: string, imageId: string): Promise<ArtifactPlace> {
    const place = this.place(sha256);
    return { ...place, appPath: (await findCompiled(join(this.#root, sha256), imageId)) ?? place.appPath };
  }

  /** Whether bytecode for an image may be added. */
  takesBytecode(sha256: string, imageId: string): Promise<boolean> {
    return takesBytecode(join(this.#root, sha256), imageId);
  }

  /** Adds the bytecode in the archive that `write` puts at a path. Throws what it throws, and as `addBytecode` does. */
  async addBytecode(
    sha256: string,
    imageId: string,
    write: BytecodeWriter,
    signal: AbortSignal,
  ): Promise<void> {
    const build = join(this.#root, sha256);
    const draft = this.#newDraft(sha256);
    const archive = join(draft, ARCHIVE);
    try {
      await mkdir(draft, { mode: 0o755 });
      await write(archive, join(build, "app"));
      const bytes = await addBytecode(build, imageId, { archive, draft, signal });
      await writeFile(join(build, SIZE), String(Number(await readFile(join(build, SIZE), "utf8")) + bytes));
    } finally {
      await rm(draft, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  incomingPath(sha256: string): string {
    return join(this.#root, "incoming", sha256);
  }

  /** Makes the folders, and removes what an agent that was killed had begun to unpack. */
  async open(): Promise<void> {
    await rm(join(this.#root, "unpacking"), { recursive: true, force: true });
    for (const name of ["incoming", "unpacking"])
      await mkdir(join(this.#root, name), { recursive: true, mode: 0o700 });
  }

  /** Notes that the files are used now. False when they are not here. */
  async touch(sha256: string, now = new Date()): Promise<boolean> {
    const boot = await readFile(join(this.#root, sha256, BOOT), "utf8").catch(() => null);
    if (boot !== null && boot !== (await bootId())) return false;
    return utimes(join(this.#root, sha256, SIZE), now, now).then(
      () => true,
      () => false,
    );
  }

  /** Unpacks a complete archive, and keeps both. Throws an ArchiveError, or the error of the disk. */
  async store(sha256: string, signal: AbortSignal): Promise<void> {
    const draft = this.#newDraft(sha256);
    const archivePath = this.incomingPath(sha256);
    try {
      await mkdir(draft, { recursive: true, mode: 0o755 });
      const unpackedBytes = await unpack(archivePath, join(draft, "app"), signal);
      const { size: packedBytes } = await stat(archivePath);
      await writeFile(join(draft, SIZE), String(packedBytes + unpackedBytes));
      await writeFile(join(draft, BOOT), await bootId());
      await chmod(archivePath, 0o644); // workers need not be root
      await rename(archivePath, join(draft, ARCHIVE));
      await rm(join(this.#root, sha256), { recursive: true, force: true }); // it would be damaged, or not be brought
      await rename(draft, join(this.#root, sha256));
    } catch (error) {
      await rm(draft, { recursive: true, force: true, maxRetries: 3 });
      throw error;
    }
    void this.#settle(sha256);
  }

  /** Has the files written to the disk, which may take longer than a worker has to wait. */
  async #settle(sha256: string): Promise<void> {
    const place = join(this.#root, sha256);
    if (!(await syncDisk(place))) return; // they are downloaded again after a boot
    await rm(join(place, BOOT), { force: true }).catch(ignoreFailure);
  }

  /** Removes the files of an app; a half of them is never to be seen. */
  async remove({ sha256, isComplete }: Pick<StoredArtifact, "sha256" | "isComplete">): Promise<void> {
    if (!isComplete) return rm(this.incomingPath(sha256), { force: true });
    const trash = this.#newDraft(sha256);
    await rename(join(this.#root, sha256), trash).catch(ignoreFailure); // gone already
    await rm(trash, { recursive: true, force: true, maxRetries: 3 });
  }

  #newDraft(sha256: string): string {
    return join(this.#root, "unpacking", `${sha256}-${randomBytes(6).toString("hex")}`);
  }

  async list(): Promise<StoredArtifact[]> {
    const [complete, partial] = await Promise.all([
      digestsIn(this.#root),
      digestsIn(join(this.#root, "incoming")),
    ]);
    const artifacts = await Promise.all([
      ...complete.map((sha256) => this.#readComplete(sha256)),
      ...partial.map((sha256) => this.#readPartial(sha256)),
    ]);
    return artifacts.filter((one) => one !== null);
  }

  async #readComplete(sha256: string): Promise<StoredArtifact | null> {
    const path = join(this.#root, sha256, SIZE);
    try {
      const [size, { mtimeMs: lastUsedAt }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
      return { sha256, isComplete: true, sizeBytes: Number(size), lastUsedAt };
    } catch {
      return null; // it is being removed
    }
  }

  async #readPartial(sha256: string): Promise<StoredArtifact | null> {
    const found = await stat(this.incomingPath(sha256)).catch(() => null);
    return found && { sha256, isComplete: false, sizeBytes: found.size, lastUsedAt: found.mtimeMs };
  }
}

async function digestsIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  return names.filter((name) => sha256Schema.safeParse(name).success);
}

/** What a host keeps of apps, whether an agent runs or not. */
export type ArtifactUsage = {
  /** Builds whose files are here. */
  readonly count: number;
  /** Disk that they and half downloads take. */
  readonly bytes: number;
};

export async function readArtifactUsage(stateDirectory: string): Promise<ArtifactUsage> {
  const artifacts = await new ArtifactDirectory(stateDirectory).list();
  const bytes = artifacts.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  return { count: artifacts.filter(({ isComplete }) => isComplete).length, bytes };
}

/** "files of 2 app builds, 40 MB" */
export function formatArtifactUsage({ count, bytes }: ArtifactUsage): string {
  return `files of ${count} app build${count === 1 ? "" : "s"}, ${formatSize(bytes)}`;
}
