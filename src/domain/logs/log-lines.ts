/** Lines of logs: their order, which of them a query selects, and how they are shown. */
import type { LogLine, LogQuery, LogSource, LogLineView } from "../../contract/agent/log.ts";
import { SEQ_PER_MS, SPAN_MAX } from "./log-key.ts";
import { LOG_BATCH_MAX_BYTES } from "../../contract/agent/log.ts";

/** A line with the worker that it belongs to. */
export type WorkerLogLine = LogLine & { readonly workerId: string };

/** A line's place among those of its endpoint. */
export type LogPosition = Pick<WorkerLogLine, "seq" | "workerId" | "source">;

/** Which lines of an endpoint's logs a query selects. */
export type LogFilter = Pick<LogQuery, "workerId" | "jobId" | "source" | "level" | "search">;

const POSITION = /^(\d{1,16})\.(container|system)\.([A-Za-z0-9_-]+)$/;

export function comparePositions(one: LogPosition, other: LogPosition): number {
  return (
    one.seq - other.seq ||
    compareStrings(one.workerId, other.workerId) ||
    compareStrings(one.source, other.source)
  );
}

export function writePosition({ seq, source, workerId }: LogPosition): string {
  return `${seq}.${source}.${workerId}`;
}

export function readPosition(value: string): LogPosition | undefined {
  const match = POSITION.exec(value);
  if (!match) return undefined;
  return { seq: Number(match[1]), source: match[2] as LogSource, workerId: match[3] ?? "" };
}

export function matchesFilter(line: WorkerLogLine, filter: LogFilter): boolean {
  const { workerId, jobId, source, level, search } = filter;
  if (workerId !== undefined && line.workerId !== workerId) return false;
  if (source !== undefined && line.source !== source) return false;
  if (jobId !== undefined && line.jobId !== jobId) return false;
  if (level !== undefined && line.level?.toLowerCase() !== level.toLowerCase()) return false;
  return search === undefined || line.line.toLowerCase().includes(search.toLowerCase());
}

export function viewLine(line: WorkerLogLine): LogLineView {
  const { seq, ...rest } = line;
  return { id: writePosition(line), at: Math.floor(seq / SEQ_PER_MS), ...rest };
}

/** The content of an object: JSON texts of lines, in the order of time. */
export type LogPiece = { readonly first: number; readonly last: number; readonly lines: readonly string[] };

/**
 * Splits lines into objects. The lines of one object span at most SPAN_MAX and have at most LOG_BATCH_MAX_BYTES
 * characters of text, or are a single one.
 */
export function* splitIntoPieces(lines: readonly LogLine[]): Generator<LogPiece> {
  let piece: { first: number; last: number; lines: string[] } | undefined;
  let length = 0;
  for (const line of lines.toSorted((one, other) => one.seq - other.seq)) {
    const json = JSON.stringify(line);
    length += json.length;
    if (piece && line.seq - piece.first <= SPAN_MAX && length <= LOG_BATCH_MAX_BYTES) {
      piece.lines.push(json);
      piece.last = line.seq;
      continue;
    }
    if (piece) yield piece;
    piece = { first: line.seq, last: line.seq, lines: [json] };
    ({ length } = json);
  }
  if (piece) yield piece;
}

function compareStrings(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
