/** Payloads of the frames of a link. */
import * as z from "zod";
import { idSchema } from "../contract/agent/agent.ts";

/** Silence of a link that has requests: it gets no more while there are others; it is taken for lost. */
export const LINK_SUSPECT_MS = 3_000;
export const LINK_SILENCE_MS = 10_000;

/** An agent that has requests sends a beat on its link this often. */
export const LINK_BEAT_MS = 1_000;
/** One message of a client's WebSocket. */
export const WEBSOCKET_MESSAGE_MAX_BYTES = 16_000_000;
/** Path and query of a request, and the number of its headers: what the HTTP client of a host supports. */
export const LOAD_BALANCED_TARGET_MAX_CHARACTERS = 16 * 1024;
export const LOAD_BALANCED_HEADERS_MAX = 1_000;

/** Headers in their order; a name may occur more than once. */
const headersSchema = z.array(z.tuple([z.string(), z.string()])).max(LOAD_BALANCED_HEADERS_MAX);

/** A request as its worker gets it: no key, no hop-by-hop headers, `X-Forwarded-*` set. */
export const requestHeadSchema = z.object({
  /** A WebSocket is a GET whose answer is expected to be 101. */
  kind: z.enum(["http", "websocket"]),
  method: z.string().min(1).max(64),
  /** Path and query, as they stand in the request line. */
  target: z.string().startsWith("/").max(LOAD_BALANCED_TARGET_MAX_CHARACTERS),
  headers: headersSchema,
});
export type RequestHead = z.infer<typeof requestHeadSchema>;

/** An answer as its worker gave it, without hop-by-hop headers. Interim answers (1xx but 101) are left out. */
export const responseHeadSchema = z.object({
  status: z.number().int().min(101).max(599),
  statusText: z.string().max(1_000),
  headers: headersSchema,
});
export type ResponseHead = z.infer<typeof responseHeadSchema>;

/**
 * Why a stream ended early.
 * aborted: the client has gone. too_large: a body. timeout: the worker took too long.
 * worker_gone: the worker takes no requests (any more). worker_failed: it refused or broke the connection.
 * protocol: the other side violated the protocol. tunnel_gone: the tunnel that shall be resumed is over.
 */
export const RESET_REASONS = [
  "aborted",
  "too_large",
  "timeout",
  "worker_gone",
  "worker_failed",
  "protocol",
  "tunnel_gone",
] as const;
export type ResetReason = (typeof RESET_REASONS)[number];

export const resetSchema = z.object({
  reason: z.enum(RESET_REASONS).catch("worker_failed"),
  /** For users. */
  detail: z.string().max(2_000),
});
export type Reset = z.infer<typeof resetSchema>;

export const closeSchema = z.object({
  code: z.number().int().min(1_000).max(4_999),
  reason: z.string().max(123),
});
export type Close = z.infer<typeof closeSchema>;

export const linkWorkersSchema = z.object({ workers: z.array(idSchema).max(500) });

// JSON as bytes, as frames carry it.
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeJson(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

/** Undefined for bytes that are not JSON. */
export function decodeJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}
