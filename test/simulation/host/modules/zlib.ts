/** `node:zlib` whose results are there at once. */
import { gzipSync } from "real:zlib";

type Done = (error: Error | null, result: Buffer) => void;

export function gzip(data: Uint8Array | string, ...rest: unknown[]): void {
  const done = rest.at(-1) as Done;
  const result = gzipSync(data, { level: 1 });
  queueMicrotask(() => done(null, result));
}
