/**
 * Copies one file to or from a container.
 *
 * F1  A copy grows in a part file beside its target. The name of the part stands for the source with its size and time,
 *     so that the next copy of the same file goes on where the last one ended.
 *     Parts in a container to which nothing was written for a day are removed by the next copy into their directory.
 * F2  The part takes the place of the target once its size, and its SHA-256 where the container has `sha256sum`, are
 *     those of the source.
 * F3  A part is written at offsets: a command of a lost connection that still writes, writes the same bytes.
 */
import { createHash, type Hash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { access, chmod, open, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { Failure } from "../../../src/std/failure.ts";
import type { Shell } from "./container-shell.ts";
import { BLOCK_BYTES, type FileState, partName, resumeOffset } from "./place.ts";

export type FilePaths = { readonly local: string; readonly remote: string };
/** `thereBytes` counts what an earlier copy has sent, too; `totalBytes` is unknown for a directory. */
export type Progress = {
  readonly sentBytes: number;
  readonly thereBytes: number;
  readonly totalBytes?: number;
};
export type OnProgress = (progress: Progress) => void;

const READ_BYTES = 256 * 1024;
/** Without the bits that would let the file run as its owner. */
const DOWNLOADED_MODE = 0o777;

const LOOK = `for one; do
  if [ -d "$one" ]; then kind=directory; elif [ -f "$one" ]; then kind=file; elif [ -e "$one" ]; then kind=other; else kind=none; fi
  printf '%s ' "$kind"
  if [ "$kind" = none ]; then echo; else stat -L -c '%s %Y %a' "$one" || exit; fi
done`;

// A part that is complete is not written to, and is in use nevertheless.
const RECEIVE = `touch "$1" || exit
head -c "$3" | dd bs=${BLOCK_BYTES} seek="$2" conv=notrunc of="$1" || exit
wc -c < "$1" || exit
if command -v sha256sum > /dev/null; then sha256sum < "$1"; fi`;

// A part has the time of its source only once it is whole, as old parts are removed. `mv` moves into a
// directory, which may have come meanwhile.
const FINISH = `chmod "$3" "$1" || exit
[ -d "$2" ] || mv -f "$1" "$2" || exit
if [ -d "$2" ]; then
  rm -f "$1" "$2/\${1##*/}"
  echo "$2 is a directory, which no file can replace" >&2
  exit 1
fi
touch -d "@$4" "$2" 2> /dev/null || echo 'its time cannot be set' >&2
find "$5" -maxdepth 1 -type f -name '.edgerun-*.part' -mtime +0 -exec rm -f {} + 2> /dev/null || :`;

const SEND = `tail -c "+$2" < "$1" || exit
stat -L -c '%s %Y' "$1" >&2
if command -v sha256sum > /dev/null; then sha256sum < "$1" >&2; fi`;

export type RemoteEntry = {
  readonly kind: "directory" | "file" | "other" | "none";
  readonly state: FileState;
};

/** What is at these paths in the container, links followed. */
export async function lookAt(shell: Shell, paths: readonly string[]): Promise<RemoteEntry[]> {
  const { stdout } = await shell.run(LOOK, paths);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => {
      const [kind = "none", size, mtime, mode] = line.split(" ");
      const state = { size: Number(size), mtime: Number(mtime), mode: Number.parseInt(mode ?? "", 8) };
      return { kind: kind as RemoteEntry["kind"], state };
    });
}

/** Throws a Failure when the file changes meanwhile, or arrives damaged. */
export async function uploadFile(
  shell: Shell,
  { local, remote }: FilePaths,
  onProgress: OnProgress,
): Promise<FileState> {
  const state = await localState(local);
  await access(local, constants.R_OK);
  const part = `${remoteDirectory(remote)}${partName(`${resolve(local)}\n${remote}`, state)}`;
  const [found] = await lookAt(shell, [part]);
  const offset = resumeOffset(found?.kind === "file" ? found.state.size : undefined, state.size);
  const hash = createHash("sha256");
  const input = bytesOf(local, { offset, hash, size: state.size, onProgress });
  const { stdout } = await shell.run(
    RECEIVE,
    [part, String(offset / BLOCK_BYTES), String(state.size - offset)],
    { input },
  );
  requireSame(local, state, await localState(local));
  const [size, sum] = stdout.split(/\s+/, 2);
  if (Number(size) !== state.size || isOther(sum, hash)) {
    await shell.run('rm -f "$1"', [part]);
    throw damaged(remote);
  }
  const { mode, mtime } = state;
  await shell.run(FINISH, [part, remote, mode.toString(8), String(mtime), remoteDirectory(remote)]);
  return state;
}

async function* bytesOf(
  path: string,
  {
    offset,
    hash,
    size,
    onProgress,
  }: { readonly offset: number; readonly hash: Hash; readonly size: number; readonly onProgress: OnProgress },
): AsyncIterable<Uint8Array> {
  if (size === 0) return;
  let at = 0;
  for await (const chunk of createReadStream(path, { end: size - 1, highWaterMark: READ_BYTES })) {
    const bytes = chunk as Buffer;
    hash.update(bytes);
    const skipped = Math.min(bytes.length, Math.max(0, offset - at));
    at += bytes.length;
    const sentBytes = bytes.length - skipped;
    if (sentBytes > 0) yield bytes.subarray(skipped);
    onProgress({ sentBytes, thereBytes: at, totalBytes: size });
  }
}

/** Throws like `uploadFile`. */
export async function downloadFile(
  shell: Shell,
  { local, remote }: FilePaths,
  onProgress: OnProgress,
): Promise<FileState> {
  const [found] = await lookAt(shell, [remote]);
  if (found?.kind !== "file") throw new Failure(`${remote} is no file in the container.`);
  const { state } = found;
  const part = join(dirname(local), partName(`${shell.containerId}\n${remote}\n${resolve(local)}`, state));
  const { stderr, hash } = await receive(shell, { part, remote, state, onProgress });
  const [size, mtime, sum] = stderr.split(/\s+/, 3);
  requireSame(remote, state, { ...state, size: Number(size), mtime: Number(mtime) });
  if (isOther(sum, hash)) {
    await rm(part, { force: true });
    throw damaged(local);
  }
  await chmod(part, state.mode & DOWNLOADED_MODE);
  await utimes(part, state.mtime, state.mtime);
  await rename(part, local);
  return state;
}

type Incoming = {
  readonly part: string;
  readonly remote: string;
  readonly state: FileState;
  readonly onProgress: OnProgress;
};

async function receive(
  shell: Shell,
  { part, remote, state, onProgress }: Incoming,
): Promise<{ readonly stderr: string; readonly hash: Hash }> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
  const file = await open(part, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  try {
    const offset = resumeOffset((await file.stat()).size, state.size);
    await file.truncate(offset);
    const hash = createHash("sha256");
    if (offset > 0)
      for await (const bytes of createReadStream(part, { end: offset - 1 })) hash.update(bytes as Buffer);
    let at = offset;
    const output = new Writable({
      write(bytes: Buffer, _, next) {
        hash.update(bytes);
        const from = at;
        at += bytes.length;
        onProgress({ sentBytes: bytes.length, thereBytes: at, totalBytes: state.size });
        if (at > state.size) return next(changed(remote));
        file.write(bytes, 0, bytes.length, from).then(() => next(), next);
      },
    });
    output.on("error", () => {}); // which `finished` throws
    const { stderr } = await shell.run(SEND, [remote, String(offset + 1)], { output }).catch((error) => {
      throw output.errored ?? error;
    });
    await finished(output.end());
    if (at !== state.size) throw changed(remote);
    return { stderr, hash };
  } finally {
    await file.close();
  }
}

async function localState(path: string): Promise<FileState> {
  const found = await stat(path);
  if (!found.isFile()) throw new Failure(`${path} is neither a file nor a directory.`);
  return { size: found.size, mtime: Math.floor(found.mtimeMs / 1_000), mode: found.mode & 0o7777 };
}

function remoteDirectory(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

function isOther(sum: string | undefined, hash: Hash): boolean {
  const own = hash.digest("hex");
  return sum !== undefined && sum !== "" && sum !== own;
}

function requireSame(path: string, before: FileState, after: FileState): void {
  if (before.size !== after.size || before.mtime !== after.mtime) throw changed(path);
}

function changed(path: string): Failure {
  return new Failure(`${path} changed while it was copied.`, ["Run the command again."]);
}

function damaged(path: string): Failure {
  return new Failure(`${path} arrived damaged, and was removed.`, ["Run the command again."]);
}
