/** Large bodies. */
import { Readable } from "node:stream";
import { Client } from "undici";
import type { Target, TransferOrder } from "./target.ts";

const PIECE = Buffer.alloc(64 * 1024, "x");

/** Megabytes (of a million bytes) per second, of all clients together. */
export async function transfer({ target, direction, bytes, clients }: TransferOrder): Promise<number> {
  const one = direction === "download" ? download : upload;
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: clients }, () => one(target, bytes)));
  const seconds = (performance.now() - startedAt) / 1_000;
  return (bytes * clients) / 1e6 / seconds;
}

/** Throws when not all bytes come. */
export async function download({ origin, prefix, headers }: Target, bytes: number): Promise<void> {
  const connection = new Client(origin);
  const path = `${prefix}/download?bytes=${bytes}`;
  const { body } = await connection.request({ method: "GET", path, headers });
  let received = 0;
  for await (const piece of body) received += (piece as Buffer).byteLength;
  await connection.close();
  if (received !== bytes) throw new Error(`A download of ${bytes} bytes ended after ${received}.`);
}

async function upload({ origin, prefix, headers }: Target, bytes: number): Promise<void> {
  const connection = new Client(origin);
  const answer = await connection.request({
    method: "POST",
    path: `${prefix}/upload`,
    headers: { ...headers, "content-length": String(bytes) },
    body: Readable.from(pieces(bytes)),
  });
  const text = await answer.body.text();
  await connection.close();
  if (text !== String(bytes)) throw new Error(`Of ${bytes} bytes sent the server says: ${text}`);
}

async function* pieces(bytes: number): AsyncGenerator<Buffer> {
  for (let left = bytes; left > 0; left -= PIECE.byteLength) yield PIECE.subarray(0, left);
}
