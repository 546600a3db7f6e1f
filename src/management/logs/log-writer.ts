/** Puts lines of logs into R2: one gzipped object per worker and batch, a JSON text per line. */
import type { WorkerLines } from "../../contract/log.ts";
import { logKey, type LogOwner } from "../../domain/log-key.ts";
import { splitIntoPieces, type LogPiece } from "../../domain/log-lines.ts";

/** The same lines, sent again, take the place of the first ones. One object after the other is made. */
export async function keepLines(
  bucket: R2Bucket,
  owner: LogOwner,
  { workerId, lines }: WorkerLines,
): Promise<void> {
  for (const piece of splitIntoPieces(lines)) await keepPiece(bucket, owner, workerId, piece);
}

async function keepPiece(
  bucket: R2Bucket,
  owner: LogOwner,
  workerId: string,
  { first, last, texts }: LogPiece,
): Promise<void> {
  const zipped = new Response(texts.join("\n")).body?.pipeThrough(new CompressionStream("gzip"));
  const bytes = await new Response(zipped).arrayBuffer(); // R2 wants to know the length
  await bucket.put(logKey(owner, { workerId, first, last }), bytes);
}
