/** Archives as an app's files come in, and some that no build would make. */
import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { Header, type HeaderData } from "tar";
import type { Artifact } from "../../src/contract/agent/artifact.ts";

export type PackedEntry = Pick<HeaderData, "path" | "linkpath" | "mode"> & {
  readonly type?: HeaderData["type"];
  readonly body?: string | Buffer;
  /** What the header says, where that is not what follows. */
  readonly size?: number;
};

const BLOCK = 512;

export function archiveOf(entries: readonly PackedEntry[]): Buffer {
  const blocks = entries.flatMap(({ body = "", type = "File", size, ...rest }) => {
    const bytes = Buffer.from(body);
    const header = Buffer.alloc(BLOCK);
    new Header({
      mode: 0o644,
      uid: 0,
      gid: 0,
      mtime: new Date(0),
      ...rest,
      type,
      size: size ?? bytes.length,
    }).encode(header);
    return [header, bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
}

/** The header of an entry alone. */
export function headOf(entry: PackedEntry): Buffer {
  return gunzipSync(archiveOf([entry])).subarray(0, BLOCK);
}

export function artifactOf(archive: Buffer): Artifact {
  return { sha256: createHash("sha256").update(archive).digest("hex"), sizeBytes: archive.length };
}
