/**
 * Chunks that handlers yielded, and how far each stream was drained: the SQL, and what is accepted.
 *
 * C1  A stream shows one attempt. The first chunk of a newer attempt removes those of the older ones.
 * C2  Positions continue over all attempts of a job, also after a retry, so a reader that continues from a position never
 *     sees a chunk twice, and sees a newer attempt from its start.
 * C3  Chunks of an attempt are taken in order and once, by their numbers, however often they come.
 * C4  A chunk is drained once. The cursor is written in the turn that returns the chunks, and only then.
 */
import { CHUNK_MAX_BYTES, STREAM_MAX_BYTES } from "../../contract/limits.ts";
import type { ObjectDatabase } from "../../durable/sql.ts";
import type { ChunkRun, ChunkJson, Chunks } from "../messages.ts";

export type Appended =
  | { readonly kind: "stored"; readonly received: number; readonly isNews: boolean }
  | { readonly kind: "refused"; readonly error: string };

/** The last row of a stream. */
type Tail = { position: number; attempt: number; number: number; totalBytes: number };

/** The documented limit of a row is 2 MB. */
const ROW_MAX_BYTES = 1_500_000;
/** Bounds what one read of an event stream brings. */
const READ_ROWS = 16;
const ALL_ROWS = -1;

export class ChunkStore {
  readonly #database: ObjectDatabase;

  constructor(database: ObjectDatabase) {
    this.#database = database;
  }

  // Writing

  /** Appends chunks of the current attempt of a job. */
  append(seq: number, { attempt, from, outputs }: Chunks): Appended {
    const tail = this.#tailOf(seq);
    const isNewAttempt = tail !== undefined && tail.attempt < attempt;
    const received = tail?.attempt === attempt ? tail.number : 0;
    const fresh = from > received + 1 ? [] : outputs.slice(received + 1 - from); // C3
    if (fresh.length === 0) return { kind: "stored", received, isNews: false };

    const start = { position: tail?.position ?? this.cursorOf(seq), number: received }; // C2
    const storedBytes = tail && !isNewAttempt ? tail.totalBytes : 0;
    const error = checkSizes(fresh, storedBytes);
    if (error !== undefined) return { kind: "refused", error };
    if (isNewAttempt) this.#removeChunks(seq); // C1
    this.#insert(seq, attempt, start, storedBytes, fresh);
    return { kind: "stored", received: received + fresh.length, isNews: true };
  }

  #insert(
    seq: number,
    attempt: number,
    start: { readonly position: number; readonly number: number },
    storedBytes: number,
    chunks: readonly ChunkJson[],
  ): void {
    let count = 0;
    let totalBytes = storedBytes;
    for (const row of rowsOf(chunks)) {
      count += row.length;
      totalBytes += sumBytes(row);
      const wire = row.map(({ json }) => `{"output":${json}}`).join(",");
      this.#database.run`
        INSERT INTO chunk (seq, position, count, attempt, number, total_bytes, wire)
        VALUES (${seq}, ${start.position + count}, ${row.length}, ${attempt}, ${start.number + count},
                ${totalBytes}, ${wire})`;
    }
  }

  remove(seq: number): void {
    this.#removeChunks(seq);
    this.#database.run`DELETE FROM drained WHERE seq = ${seq}`;
  }

  /** Removes the chunks of a job that is retried. Those of its next attempt come after them, as if they were drained (C2). */
  restart(seq: number): void {
    const end = this.endOf(seq);
    if (end === 0) return;
    this.#removeChunks(seq);
    this.#saveCursor(seq, end);
  }

  #removeChunks(seq: number): void {
    this.#database.run`DELETE FROM chunk WHERE seq = ${seq}`;
  }

  // Reading

  /** Position of the last chunk; 0 when there is no chunk. */
  endOf(seq: number): number {
    return this.#tailOf(seq)?.position ?? 0;
  }

  #tailOf(seq: number): Tail | undefined {
    return this.#database.first<Tail>`
      SELECT position, attempt, number, total_bytes AS totalBytes FROM chunk
       WHERE seq = ${seq} ORDER BY position DESC LIMIT 1`;
  }

  /** Position up to which the stream was drained. */
  cursorOf(seq: number): number {
    const row = this.#database.first<{ position: number }>`SELECT position FROM drained WHERE seq = ${seq}`;
    return row?.position ?? 0;
  }

  /** The chunks after a position, in a bounded batch. The first run may begin before it. */
  after(seq: number, position: number, limit = READ_ROWS): ChunkRun[] {
    return this.#database.all<ChunkRun>`
      SELECT position, count, wire, attempt FROM chunk
       WHERE seq = ${seq} AND position > ${position} ORDER BY position LIMIT ${limit}`;
  }

  /** All chunks that were not drained yet; to be called inside a turn. */
  drain(seq: number): { readonly runs: readonly ChunkRun[]; readonly position: number } {
    const cursor = this.cursorOf(seq);
    const runs = this.after(seq, cursor, ALL_ROWS);
    const position = runs.at(-1)?.position ?? cursor;
    if (position > cursor) this.#saveCursor(seq, position); // C4
    return { runs, position };
  }

  #saveCursor(seq: number, position: number): void {
    this.#database.run`
      INSERT INTO drained (seq, position) VALUES (${seq}, ${position})
      ON CONFLICT (seq) DO UPDATE SET position = excluded.position`;
  }
}

function checkSizes(chunks: readonly ChunkJson[], storedBytes: number): string | undefined {
  const largest = Math.max(...chunks.map(({ sizeBytes }) => sizeBytes));
  if (largest > CHUNK_MAX_BYTES) return chunkTooLarge(largest);
  if (storedBytes + sumBytes(chunks) <= STREAM_MAX_BYTES) return undefined;
  return (
    `The handler streamed more than ${STREAM_MAX_BYTES} bytes, the limit of one job. ` +
    "Stream less, or store the data elsewhere and stream its URL."
  );
}

function chunkTooLarge(sizeBytes: number): string {
  return (
    `The handler yielded a chunk of ${sizeBytes} bytes; the limit is ${CHUNK_MAX_BYTES}. ` +
    "Yield smaller chunks, or store the data elsewhere and yield its URL."
  );
}

/** Cuts chunks into rows that storage takes; nearly always one. */
function rowsOf(chunks: readonly ChunkJson[]): ChunkJson[][] {
  const rows: ChunkJson[][] = [[]];
  let rowBytes = 0;
  for (const chunk of chunks) {
    if (rowBytes > 0 && rowBytes + chunk.sizeBytes > ROW_MAX_BYTES) {
      rows.push([]);
      rowBytes = 0;
    }
    rows.at(-1)?.push(chunk);
    rowBytes += chunk.sizeBytes;
  }
  return rows;
}

function sumBytes(chunks: readonly ChunkJson[]): number {
  return chunks.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
