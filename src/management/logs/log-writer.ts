/** Puts lines of logs into R2: one gzipped object per worker and batch, a JSON text per line. */
import type { LogLine, WorkerLines } from "../../contract/log.ts";
import { logKey, type LogOwner } from "../../domain/log-key.ts";
import { splitBySpan } from "../../domain/log-lines.ts";

/** The same lines, sent again, take the place of the first ones. */
export async function keepLines(
  bucket: R2Bucket,
  owner: LogOwner,
  { workerId, lines }: WorkerLines,
): Promise<void> {
  await Promise.all(splitBySpan(lines).map((piece) => keepPiece(bucket, owner, workerId, piece)));
}

async function keepPiece(
  bucket: R2Bucket,
  owner: LogOwner,
  workerId: string,
  lines: readonly LogLine[],
): Promise<void> {
  const [first, last] = [lines[0], lines.at(-1)];
  if (!first || !last) return;
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const zipped = new Response(text).body?.pipeThrough(new CompressionStream("gzip"));
  const bytes = await new Response(zipped).arrayBuffer(); // R2 wants to know the length
  await bucket.put(logKey(owner, { workerId, first: first.seq, last: last.seq }), bytes);
}
