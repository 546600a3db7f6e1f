/** `node:zlib` whose results are there at once. */
import { gzipSync } from "real:zlib";

type Callback = (error: Error | null, result: Buffer) => void;

export function gzip(data: Uint8Array | string, ...rest: unknown[]): void {
  const callback = rest.at(-1) as Callback;
  const result = gzipSync(data, { level: 1 });
  queueMicrotask(() => callback(null, result));
}
