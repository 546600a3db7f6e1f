/** What tells one state of an app's sources from another. */
import { createHash, type Hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ProjectFile } from "./project-files.ts";

export type FingerprintInput = {
  /** Sorted by path. */
  readonly files: readonly Pick<ProjectFile, "path" | "source">[];
  /** `name==version` of everything that is installed, sorted. */
  readonly dependencies: readonly string[];
  /** Such as 3.12. */
  readonly pythonVersion: string;
  readonly sdkVersion: string;
};

/** In hex. Where the project lies and when its files were written plays no part. */
export async function sourceFingerprint(input: FingerprintInput): Promise<string> {
  const hash = createHash("sha256");
  for (const { path, source } of input.files) {
    frame(hash, Buffer.from(path));
    frame(hash, await readFile(source));
  }
  for (const value of [...input.dependencies, input.pythonVersion, input.sdkVersion]) {
    frame(hash, Buffer.from(value));
  }
  return hash.digest("hex");
}

/** With its length before it, so that no two lists of texts look alike. */
function frame(hash: Hash, bytes: Buffer): void {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes.length));
  hash.update(length).update(bytes);
}
