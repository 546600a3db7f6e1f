/** Lines of logs: their order, which of them are meant, and how they are shown. */
import { LOG_BATCH_MAX_BYTES } from "../contract/limits.ts";
import type { LogLine, LogQuery, LogSource, ShownLogLine } from "../contract/log.ts";
import { SEQ_PER_MS, SPAN_MAX } from "./log-key.ts";

/** A line and whose it is. */
export type PlacedLine = LogLine & { readonly workerId: string };

/** A line's place among those of its endpoint. */
export type LogPosition = Pick<PlacedLine, "seq" | "workerId" | "source">;

/** What of an endpoint's logs is meant. */
export type LogFilter = Pick<LogQuery, "workerId" | "jobId" | "source" | "level" | "search">;

const POSITION = /^(\d{1,16})\.(container|system)\.([A-Za-z0-9_-]+)$/;

export function comparePositions(one: LogPosition, other: LogPosition): number {
  return (
    one.seq - other.seq ||
    compareTexts(one.workerId, other.workerId) ||
    compareTexts(one.source, other.source)
  );
}

export function writePosition({ seq, source, workerId }: LogPosition): string {
  return `${seq}.${source}.${workerId}`;
}

export function readPosition(text: string): LogPosition | undefined {
  const match = POSITION.exec(text);
  if (!match) return undefined;
  return { seq: Number(match[1]), source: match[2] as LogSource, workerId: match[3] ?? "" };
}

export function isMeant(line: PlacedLine, filter: LogFilter): boolean {
  const { workerId, jobId, source, level, search } = filter;
  if (workerId !== undefined && line.workerId !== workerId) return false;
  if (source !== undefined && line.source !== source) return false;
  if (jobId !== undefined && line.jobId !== jobId) return false;
  if (level !== undefined && line.level?.toLowerCase() !== level.toLowerCase()) return false;
  return search === undefined || line.line.toLowerCase().includes(search.toLowerCase());
}

export function showLine(line: PlacedLine): ShownLogLine {
  const { seq, ...rest } = line;
  return { id: writePosition(line), at: Math.floor(seq / SEQ_PER_MS), ...rest };
}

/** What an object holds: JSON texts of lines, in the order of time. */
export type LogPiece = { readonly first: number; readonly last: number; readonly texts: readonly string[] };

/**
 * Lines as the objects that keep them: their lines lie no further apart than an object's may, and have no more than
 * LOG_BATCH_MAX_BYTES characters of text, or are a single one.
 */
export function* splitIntoPieces(lines: readonly LogLine[]): Generator<LogPiece> {
  let piece: { first: number; last: number; texts: string[] } | undefined;
  let length = 0;
  for (const line of lines.toSorted((one, other) => one.seq - other.seq)) {
    const text = JSON.stringify(line);
    length += text.length;
    if (piece && line.seq - piece.first <= SPAN_MAX && length <= LOG_BATCH_MAX_BYTES) {
      piece.texts.push(text);
      piece.last = line.seq;
      continue;
    }
    if (piece) yield piece;
    piece = { first: line.seq, last: line.seq, texts: [text] };
    ({ length } = text);
  }
  if (piece) yield piece;
}

function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
