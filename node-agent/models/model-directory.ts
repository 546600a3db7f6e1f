/**
 * Where a host stores models: <stateDirectory>/models/, in the layout that Hugging Face's libraries read
 *
 *   hub/models--<org>--<name>/
 *     blobs/<hash>                 a file's content under its hash
 *     blobs/<hash>.incomplete      what was downloaded of it so far
 *     blobs/<hash>.etag            the version that this is of, as its server names it
 *     refs/<revision>              the commit that a branch or tag was
 *     snapshots/<commit>/<path>    links into blobs/; its time is that of the last use
 *   drafts/                        snapshots that are being made or removed
 *
 * A snapshot is whole: it gets its name at the end, in one step, when all of its blobs are on the disk.
 */
import { randomBytes } from "node:crypto";
import {
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { commitSchema, type Model } from "../../src/contract/model.ts";
import { ignoreFailure } from "../../src/std/errors.ts";
import { sizeOf } from "../disk/resumed-transfer.ts";
import { folderOf } from "./model-environment.ts";
import type { ModelFile } from "./model-listing.ts";

/** What a host has of one model. */
export type StoredModel = {
  readonly id: string;
  readonly snapshots: readonly StoredSnapshot[];
  /** Contents that no snapshot has: of downloads that were interrupted. */
  readonly rest: { readonly sizeBytes: number; readonly lastUsedAt: number };
  /** All contents. */
  readonly sizeBytes: number;
};

export type StoredSnapshot = {
  readonly commit: string;
  /** Its contents, which other snapshots may have as well. */
  readonly sizeBytes: number;
  readonly lastUsedAt: number;
  readonly blobs: ReadonlySet<string>;
};

type Blob = { readonly name: string; readonly sizeBytes: number; readonly changedAt: number };

export class ModelDirectory {
  readonly #root: string;
  /** Contents of snapshots, which never change; by their path. */
  readonly #blobs = new Map<string, ReadonlySet<string>>();

  constructor(stateDirectory: string) {
    this.#root = join(resolve(stateDirectory), "models");
  }

  /** What HF_HUB_CACHE names. */
  get hubPath(): string {
    return join(this.#root, "hub");
  }

  modelPath(id: string): string {
    return join(this.hubPath, folderOf(id));
  }

  blobPath(id: string, blob: string): string {
    return join(this.modelPath(id), "blobs", blob);
  }

  /** Makes the folders, and removes what an agent that was killed had begun. */
  async open(): Promise<void> {
    await rm(this.#drafts, { recursive: true, force: true });
    for (const path of [this.#root, this.hubPath, this.#drafts])
      await mkdir(path, { recursive: true, mode: 0o755 });
  }

  async createModel(id: string): Promise<void> {
    for (const name of ["blobs", "refs", "snapshots"]) {
      await mkdir(join(this.modelPath(id), name), { recursive: true, mode: 0o755 });
    }
  }

  // Snapshots

  /** Notes that the snapshot is used now. False when it is not here. */
  touch(id: string, commit: string, now = new Date()): Promise<boolean> {
    return utimes(this.#snapshotPath(id, commit), now, now).then(
      () => true,
      () => false,
    );
  }

  /** Makes a snapshot of contents that are all here. */
  async addSnapshot(id: string, commit: string, files: readonly ModelFile[]): Promise<void> {
    const draft = this.#draftPath();
    const place = this.#snapshotPath(id, commit);
    try {
      await mkdir(draft, { mode: 0o755 });
      for (const { path, blob } of files) {
        const link = join(draft, path);
        await mkdir(dirname(link), { recursive: true, mode: 0o755 });
        await symlink(relative(dirname(join(place, path)), this.blobPath(id, blob)), link);
      }
      await rename(draft, place);
    } catch (error) {
      await rm(draft, { recursive: true, force: true, maxRetries: 3 });
      throw error;
    }
  }

  async #snapshotOf(
    id: string,
    commit: string,
    blobs: ReadonlyMap<string, Blob>,
  ): Promise<StoredSnapshot | null> {
    const path = this.#snapshotPath(id, commit);
    const found = await stat(path).catch(() => null);
    if (found === null) return null;
    const own = this.#blobs.get(path) ?? (await blobsLinkedIn(path));
    this.#blobs.set(path, own);
    const sizeBytes = [...own].reduce((sum, name) => sum + (blobs.get(name)?.sizeBytes ?? 0), 0);
    return { commit, sizeBytes, lastUsedAt: found.mtimeMs, blobs: own };
  }

  /** Removes a snapshot with the contents that no other one has; a half of it is never to be seen. */
  async removeSnapshot(id: string, commit: string): Promise<void> {
    this.#blobs.delete(this.#snapshotPath(id, commit));
    await this.#discard(this.#snapshotPath(id, commit));
    await this.#removeRefsTo(id, commit);
    await this.removeRest(id);
  }

  /** Removes the contents that no snapshot has. */
  async removeRest(id: string): Promise<void> {
    const model = await this.model(id);
    if (model.snapshots.length === 0) return this.#discard(this.modelPath(id));
    const used = new Set(model.snapshots.flatMap(({ blobs }) => [...blobs]));
    const names = await readdir(join(this.modelPath(id), "blobs")).catch(() => []);
    for (const name of names.filter((one) => !used.has(one))) {
      await rm(this.blobPath(id, name), { force: true });
    }
  }

  // Branches and tags

  /** The commit that a revision was when it was last asked for; null where that is not known. */
  async ref({ id, revision }: Model): Promise<string | null> {
    const text = await readFile(this.#refPath(id, revision), "utf8").catch(() => "");
    return commitSchema.safeParse(text).data ?? null;
  }

  /** The libraries want one for whatever is no commit. */
  async saveRef({ id, revision }: Model, commit: string): Promise<void> {
    if (revision === commit) return;
    const path = this.#refPath(id, revision);
    const draft = this.#draftPath();
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFile(draft, commit);
    await rename(draft, path);
  }

  async #removeRefsTo(id: string, commit: string): Promise<void> {
    const refs = join(this.modelPath(id), "refs");
    const entries = await readdir(refs, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries.filter((one) => one.isFile())) {
      const path = join(entry.parentPath, entry.name);
      if ((await readFile(path, "utf8").catch(() => "")) === commit) await rm(path, { force: true });
    }
  }

  // Looking

  async list(): Promise<StoredModel[]> {
    const folders = await readdir(this.hubPath).catch(() => []);
    return Promise.all(folders.flatMap((folder) => idOf(folder) ?? []).map((id) => this.model(id)));
  }

  async model(id: string): Promise<StoredModel> {
    const [blobs, commits] = await Promise.all([
      blobsIn(join(this.modelPath(id), "blobs")),
      readdir(join(this.modelPath(id), "snapshots")).catch(() => []),
    ]);
    const byName = new Map(blobs.map((blob) => [blob.name, blob]));
    const known = commits.filter((commit) => commitSchema.safeParse(commit).success);
    const found = await Promise.all(known.map((commit) => this.#snapshotOf(id, commit, byName)));
    const snapshots = found.filter((snapshot) => snapshot !== null);
    const used = new Set(snapshots.flatMap((snapshot) => [...snapshot.blobs]));
    const others = blobs.filter(({ name }) => !used.has(name));
    return {
      id,
      snapshots,
      rest: {
        sizeBytes: bytesOf(others),
        lastUsedAt: Math.max(0, ...others.map(({ changedAt }) => changedAt)),
      },
      sizeBytes: bytesOf(blobs),
    };
  }

  async hasBlob(id: string, { blob, sizeBytes }: ModelFile): Promise<boolean> {
    return (await stat(this.blobPath(id, blob)).catch(() => null))?.size === sizeBytes;
  }

  /** Bytes that are here of the content of a file. */
  async presentBytes(id: string, blob: string): Promise<number> {
    const path = this.blobPath(id, blob);
    return (await sizeOf(path)) || (await sizeOf(`${path}.incomplete`));
  }

  #snapshotPath(id: string, commit: string): string {
    return join(this.modelPath(id), "snapshots", commit);
  }

  #refPath(id: string, revision: string): string {
    return join(this.modelPath(id), "refs", ...revision.split("/"));
  }

  get #drafts(): string {
    return join(this.#root, "drafts");
  }

  #draftPath(): string {
    return join(this.#drafts, randomBytes(6).toString("hex"));
  }

  async #discard(path: string): Promise<void> {
    const trash = this.#draftPath();
    await rename(path, trash).catch(ignoreFailure); // gone already
    await rm(trash, { recursive: true, force: true, maxRetries: 3 });
  }
}

function idOf(folder: string): string | undefined {
  const [kind, org, name, ...more] = folder.split("--");
  return kind === "models" && org && name && more.length === 0 ? `${org}/${name}` : undefined;
}

async function blobsIn(directory: string): Promise<Blob[]> {
  const names = await readdir(directory).catch(() => []);
  const found = await Promise.all(
    names.map(async (name) => {
      const file = await stat(join(directory, name)).catch(() => null);
      return file && { name, sizeBytes: file.size, changedAt: file.mtimeMs };
    }),
  );
  return found.filter((blob) => blob !== null);
}

async function blobsLinkedIn(snapshot: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(snapshot, { recursive: true, withFileTypes: true });
  const links = entries.filter((entry) => entry.isSymbolicLink());
  const targets = await Promise.all(links.map((link) => readlink(join(link.parentPath, link.name))));
  return new Set(targets.map((target) => basename(target)));
}

function bytesOf(blobs: readonly Blob[]): number {
  return blobs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
