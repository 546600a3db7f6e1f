/**
 * Logs: what workers print, and what happens to them.
 *
 *   POST /agent/v1/logs                lines of a host's workers, gzipped JSON -> their followers
 *
 * A line is known by its worker, its source and its `seq`: the time in microseconds, made to grow from line to
 * line. What is sent twice is therefore shown once.
 */
import * as z from "zod";
import { idSchema } from "./agent.ts";
import { lenientList, dropItem } from "../lenient-list.ts";

/** While a client follows the logs, lines that arrive this close together are sent together. */
export const LOG_LIVE_DELAY_MS = 200;

/** Unpacked size of a body of log lines, which is compressed with gzip. */
export const LOG_UNPACKED_MAX_BYTES = 16_000_000;

/** Lines of one page. */
const LOG_PAGE_DEFAULT = 200;
export const LOG_PAGE_MAX = 2_000;
/** Number of latest lines that a reader gets when it names no time. */
export const LOG_TAIL_DEFAULT = 100;
const LOG_TAIL_MAX = 5_000;
/** A longer line is cut and ends with a mark. */
export const LOG_LINE_MAX_BYTES = 16 * 1024;
/** Ids and search terms in lines and queries. */
export const LOG_FIELD_MAX_CHARACTERS = 256;
/** Lines of one worker that are sent and stored together. */
export const LOG_BATCH_LINES_MAX = 20_000;
export const LOG_BATCH_MAX_BYTES = 1_000_000;

/** container: what the worker prints. system: what Edgerun does with it. */
export const LOG_SOURCES = ["container", "system"] as const;
export type LogSource = (typeof LOG_SOURCES)[number];

const seq = z.number().int().positive();
const field = z.string().max(LOG_FIELD_MAX_CHARACTERS);

export const logLineSchema = z.object({
  seq,
  source: z.enum(LOG_SOURCES),
  /** The stream of a container's line; absent where the runtime does not distinguish the two. */
  stream: z.enum(["stdout", "stderr"]).optional(),
  /** Without its line break; cut to LOG_LINE_MAX_BYTES, and then ends with a mark. */
  line: z.string().overwrite((line) => line.slice(0, 2 * LOG_LINE_MAX_BYTES)),
  /** The job that printed it, as far as that is known. */
  jobId: field.optional(),
  level: field.optional(),
});
export type LogLine = z.infer<typeof logLineSchema>;

// From agents

export const workerLinesSchema = z.object({
  endpointId: idSchema,
  workerId: idSchema,
  lines: lenientList(logLineSchema, dropItem, LOG_BATCH_LINES_MAX),
  /** Of live lines: the followers of the endpoint that they are meant for, as `follow` in an exchange. Absent: all. */
  follow: z.number().int().nonnegative().optional(),
});
export type WorkerLines = z.infer<typeof workerLinesSchema>;

export const logRequestSchema = z.object({
  /** The host's clock in ms: when it is wrong, the edge moves the times of the lines. */
  now: z.number().int().nonnegative(),
  /** Lines for followers only, not to be stored: the agent sends the same lines again to be stored. */
  isLive: z.boolean(),
  workers: lenientList(workerLinesSchema, dropItem, 1_000),
});
export type LogRequest = z.infer<typeof logRequestSchema>;

/** The followers of the endpoints in a live request, in the form of `follow` in an exchange. */
export const logReplySchema = z.object({
  follows: lenientList(z.object({ endpointId: idSchema, follow: z.number().int().nonnegative() }), dropItem),
  /** Workers that do not belong to the host: their lines were dropped. Absent if there are none or the edge is older. */
  refused: lenientList(z.object({ workerId: idSchema, code: z.string().max(64) }), dropItem).optional(),
});
export type LogReply = z.infer<typeof logReplySchema>;

// For users

const whole = (name: string) => z.string().regex(/^\d+$/, `must be ${name}`).transform(Number);

/** No date lies further from 1970. */
const TIME_MAX_MS = 8.64e15;

const timeSchema = z
  .string()
  .transform((value) => (/^\d+$/.test(value) ? Number(value) : Date.parse(value)))
  .refine(
    (ms) => Number.isInteger(ms) && Math.abs(ms) <= TIME_MAX_MS,
    "must be a time: milliseconds since 1970, or ISO 8601",
  )
  .pipe(z.number())
  .meta({ type: "string" });

const queryString = z.string().min(1).max(LOG_FIELD_MAX_CHARACTERS);

/** What `GET /v2/<endpoint>/logs` shows; members of the query. */
export const logQuerySchema = z.object({
  workerId: queryString.optional().meta({ description: "Lines of this worker only." }),
  jobId: queryString.optional().meta({ description: "Lines that are known to be of this job." }),
  source: z.enum(LOG_SOURCES).optional(),
  level: queryString
    .optional()
    .meta({ description: "Such as ERROR; what the Python SDK writes carries one." }),
  search: queryString.optional().meta({ description: "Text in the line, in capitals or not." }),
  since: timeSchema.optional().meta({ description: "From this time on." }),
  until: timeSchema.optional().meta({ description: "Up to this time, not included." }),
  limit: whole("a whole number")
    .pipe(z.number().int().min(1).max(LOG_PAGE_MAX, `must be at most ${LOG_PAGE_MAX}`))
    .default(LOG_PAGE_DEFAULT)
    .meta({ type: "string" }),
  cursor: queryString.optional().meta({ description: "`cursor` of the page before." }),
});
export type LogQuery = z.infer<typeof logQuerySchema>;

/** What the log stream of one worker shows. */
export const workerLogQuerySchema = z.object({
  source: z.enum(LOG_SOURCES).optional(),
  since: timeSchema.optional().meta({ description: "From this time on." }),
  tail: whole("a whole number")
    .pipe(z.number().int().max(LOG_TAIL_MAX, `must be at most ${LOG_TAIL_MAX}`))
    .default(LOG_TAIL_DEFAULT)
    .meta({ type: "string", description: "Number of latest lines before the new ones." }),
});

export const logLineViewSchema = logLineSchema.omit({ seq: true }).extend({
  /** Names the line within the logs of its endpoint. */
  id: z.string(),
  at: z.number().meta({ description: "Milliseconds since 1970." }),
  workerId: z.string(),
});
export type LogLineView = z.infer<typeof logLineViewSchema>;

export const logPageSchema = z
  .object({
    lines: z.array(logLineViewSchema).meta({ description: "In the order of time." }),
    cursor: z
      .string()
      .nullable()
      .meta({ description: "Brings the lines before these; null when there are none." }),
  })
  .meta({ id: "LogPage" });
export type LogPage = z.infer<typeof logPageSchema>;

/** What the logs of a worker show to clients that take it for a pod. */
export const podLogQuerySchema = workerLogQuerySchema.omit({ source: true }).extend({
  type: z
    .enum(["all", ...LOG_SOURCES])
    .default("all")
    .meta({ description: "The source of the lines." }),
  stream: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "true: server-sent events, each `{source, line, ts}`, instead of the last lines." }),
});

/** The logs of a worker as a pod's. */
export const podLogsSchema = z.object({ container: z.array(z.string()), system: z.array(z.string()) });
export type PodLogs = z.infer<typeof podLogsSchema>;
