/**
 * The files of a model as its hub lists them. A hub may be hostile: what it says becomes names of files, so nothing of
 * it is used that could lead out of the model's folder, or that is too large to be true.
 */
import * as z from "zod";

/** Files of one model. */
export const MODEL_FILES_MAX = 10_000;
const PATH_MAX_CHARACTERS = 1_024;
const PART_MAX_BYTES = 255;
const DEPTH_MAX = 32;

const sizeSchema = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const gitIdSchema = z.string().regex(/^[0-9a-f]{40}$/);
const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/);

const entrySchema = z.object({
  type: z.string(),
  path: z.string(),
  size: sizeSchema.optional(),
  oid: z.string().optional(),
  lfs: z.object({ oid: sha256Schema, size: sizeSchema }).nullish(),
});

export type ModelFile = {
  readonly path: string;
  readonly sizeBytes: number;
  /** Under this name its content is stored: the SHA-256 of a large file, the git id of a small one. */
  readonly blob: string;
};

/** The files among the entries of one page. Throws a sentence's end that says what is wrong. */
export function readListing(page: unknown): readonly ModelFile[] {
  const entries = z.array(entrySchema).max(MODEL_FILES_MAX).safeParse(page);
  if (!entries.success) throw new Error("it is no list of files");
  return entries.data.filter(({ type }) => type === "file").map(readFile);
}

function readFile({ path, size, oid, lfs }: z.infer<typeof entrySchema>): ModelFile {
  if (!isSafePath(path)) throw new Error(`it names the file ${JSON.stringify(path.slice(0, 100))}`);
  if (lfs) return { path, sizeBytes: lfs.size, blob: lfs.oid };
  const blob = gitIdSchema.safeParse(oid);
  if (!blob.success || size === undefined) throw new Error(`it lacks the id or the size of ${path}`);
  return { path, sizeBytes: size, blob: blob.data };
}

/** Whether a path stays below the folder that it is relative to. */
export function isSafePath(path: string): boolean {
  const parts = path.split("/");
  return path.length <= PATH_MAX_CHARACTERS && parts.length <= DEPTH_MAX && parts.every(isSafePart);
}

function isSafePart(part: string): boolean {
  if (part === "" || part === "." || part === "..") return false;
  return Buffer.byteLength(part) <= PART_MAX_BYTES && !/[\p{Cc}\\]/u.test(part);
}

/** Why these files cannot be a model together; undefined when they can. */
export function listingProblem(files: readonly ModelFile[]): string | undefined {
  if (files.length === 0) return "it has no files";
  if (files.length > MODEL_FILES_MAX) return `it has more than ${MODEL_FILES_MAX} files`;
  const sizes = new Map<string, number>();
  for (const { blob, sizeBytes } of files) {
    if ((sizes.get(blob) ?? sizeBytes) !== sizeBytes) return `it gives ${blob} two sizes`;
    sizes.set(blob, sizeBytes);
  }
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size < files.length) return "it names a file twice";
  const nested = files.find(({ path }) => foldersOf(path).some((folder) => paths.has(folder)));
  return nested && `${nested.path} is below a file`;
}

function foldersOf(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** The distinct contents of files, each with the path of one of them. */
export function blobsOf(files: readonly ModelFile[]): readonly ModelFile[] {
  return [...new Map(files.map((file) => [file.blob, file])).values()];
}

/** The cursor of the next page in a header such as `<https://…?cursor=abc>; rel="next"`. */
export function nextCursor(link: string | null): string | undefined {
  const [, target] = /<([^<>]*)>\s*;\s*rel="?next"?/.exec(link ?? "") ?? [];
  return (target !== undefined && URL.parse(target, "http://hub")?.searchParams.get("cursor")) || undefined;
}
