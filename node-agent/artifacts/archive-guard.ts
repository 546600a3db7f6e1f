/**
 * What an archive may do to the host on which it is unpacked.
 *
 * G1  Every entry is a file, a directory or a link inside the folder. A link climbs first and descends then, so that
 *     no other link on its way can lead it out; and it climbs over directories alone, for nothing is unpacked
 *     through a link.
 * G2  A hard link names a file that came before it. Of a symbolic link it would make another one elsewhere.
 * G3  Entries, bytes and lengths of names are bounded.
 */

/** Size of an artifact when it is unpacked: the largest ones are five times smaller packed. */
export const ARTIFACT_UNPACKED_MAX_BYTES = 10_000_000_000;
/** Files, directories and links in an artifact. */
const ARTIFACT_ENTRIES_MAX = 500_000;

/** An entry as the archive describes it. */
export type ArchiveEntry = {
  readonly path: string;
  /** As the tar library names it. */
  readonly type: string;
  readonly size: number;
  readonly linkpath?: string | undefined;
};

export type ArchiveBounds = { readonly entriesMax: number; readonly bytesMax: number };

const BOUNDS: ArchiveBounds = { entriesMax: ARTIFACT_ENTRIES_MAX, bytesMax: ARTIFACT_UNPACKED_MAX_BYTES };

const FILES = new Set(["File", "OldFile", "ContiguousFile"]);
const SEGMENT_MAX_BYTES = 255;
const PATH_MAX_BYTES = 3_000;
const QUOTED_MAX_LENGTH = 120;

/** Looks at the entries of one archive, in their order. */
export class ArchiveGuard {
  readonly #bounds: ArchiveBounds;
  readonly #files = new Set<string>();
  #entries = 0;
  #bytes = 0;

  constructor(bounds: ArchiveBounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** Bytes of the files so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Why the archive must not be unpacked, to be read after "it"; null when the entry is fine. */
  issueOf(entry: ArchiveEntry): string | null {
    const { entriesMax, bytesMax } = this.#bounds;
    this.#entries += 1;
    this.#bytes += entry.size;
    if (this.#entries > entriesMax) return `has more than ${entriesMax} entries`;
    if (this.#bytes > bytesMax) return `has more than ${bytesMax / 1e9} GB of files`;
    const path = insidePath(entry.path);
    if (path === null) return `has an entry that leaves the app's folder: ${quoted(entry.path)}`;
    const isTooLong = Buffer.byteLength(path) > PATH_MAX_BYTES || path.split("/").some(isLong);
    if (isTooLong) return `has an entry with too long a name: ${quoted(entry.path)}`;
    if (entry.type === "Directory") return null;
    if (path === "") return "has an entry in place of the app's folder";
    return this.#contentIssueOf(path, entry);
  }

  #contentIssueOf(path: string, { type, linkpath = "" }: ArchiveEntry): string | null {
    if (FILES.has(type)) {
      this.#files.add(path);
      return null;
    }
    this.#files.delete(path);
    if (type === "SymbolicLink") {
      return staysInside(path, linkpath) ? null : `has a link that leaves the app's folder: ${quoted(path)}`;
    }
    if (type !== "Link") return `has an entry that is neither file, directory nor link: ${quoted(path)}`;
    const target = insidePath(linkpath);
    if (target === null || !this.#files.has(target)) {
      return `has a hard link to what is no file of its own: ${quoted(path)}`;
    }
    this.#files.add(path);
    return null;
  }
}

/** The path in the folder, without what means nothing; null when it leaves it. */
function insidePath(path: string): string | null {
  if (path.startsWith("/") || path.includes("\0")) return null;
  const segments = segmentsOf(path);
  return segments.includes("..") ? null : segments.join("/");
}

/** G1 */
function staysInside(path: string, target: string): boolean {
  if (target === "" || target.startsWith("/") || target.includes("\0")) return false;
  const segments = segmentsOf(target);
  const descent = segments.findIndex((segment) => segment !== "..");
  const climbs = descent < 0 ? segments.length : descent;
  if (segments.slice(climbs).includes("..")) return false;
  return climbs <= segmentsOf(path).length - 1;
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "" && segment !== ".");
}

function isLong(segment: string): boolean {
  return Buffer.byteLength(segment) > SEGMENT_MAX_BYTES;
}

/** Names are of the archive, and are put into a message that users read. */
function quoted(path: string): string {
  const text = JSON.stringify(path.slice(0, QUOTED_MAX_LENGTH));
  return path.length > QUOTED_MAX_LENGTH ? `${text} …` : text;
}
