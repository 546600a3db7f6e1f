import { trimEndOf } from "../../src/net/trimming.ts";
import * as z from "zod";
import {
  type DispatchedJob,
  EXCHANGE_REPLY_CUTS,
  type ExchangeReply,
  rawExchangeReplySchema,
  type HostReply,
  hostReplySchema,
  type JoinReply,
  type JoinRequest,
  joinReplySchema,
  type SyncReply,
  type SyncRequest,
  syncReplySchema,
  type UploadReply,
  uploadReplySchema,
} from "../../src/contract/agent/agent.ts";
import { type LogReply, logReplySchema } from "../../src/contract/agent/log.ts";
import { cutJson } from "../../src/json/raw-json.ts";
import type { AttemptRef } from "../journal/journal.ts";

/** How a call to the edge ended. */
export type EdgeOutcome<Reply> =
  | { readonly kind: "answered"; readonly reply: Reply }
  | { readonly kind: "unauthorized"; readonly detail: string }
  /** The edge answers, but not to this call. */
  | { readonly kind: "refused"; readonly status: number; readonly detail: string }
  | { readonly kind: "unreachable"; readonly detail: string };

/** A job whose input and s3Config are the JSON texts that came. */
export type IncomingJob = Omit<DispatchedJob, "input" | "s3Config"> & {
  readonly input: string;
  readonly s3Config?: string;
};
export type IncomingReply = Omit<ExchangeReply, "jobs"> & { readonly jobs: readonly IncomingJob[] };

export type CallLimits = { readonly timeoutMs: number; readonly signal: AbortSignal };

/** Bytes of an artifact on their way: from the first that was asked for, or from 0 where the edge sends all. */
export type ArtifactBytes = { readonly from: number; readonly bytes: AsyncIterable<Uint8Array> };

const DETAIL_MAX_LENGTH = 300;
const errorAnswer = z.object({ error: z.string() });
const nothing = z.object({});
/** Makes the agent's calls to the edge and checks every reply. Never throws. */
export class EdgeClient {
  readonly #edgeUrl: string;
  readonly #hostToken: string | null;

  constructor(edgeUrl: string, hostToken: string | null) {
    this.#edgeUrl = trimEndOf(edgeUrl, "/");
    this.#hostToken = hostToken;
  }

  join(request: JoinRequest, limits: CallLimits): Promise<EdgeOutcome<JoinReply>> {
    return this.#post("/agent/v1/join", JSON.stringify(request), joinReplySchema, limits);
  }

  sync(request: SyncRequest, limits: CallLimits): Promise<EdgeOutcome<SyncReply>> {
    return this.#post("/agent/v1/sync", JSON.stringify(request), syncReplySchema, limits);
  }

  /** Looks whether the edge accepts this host. */
  host(limits: CallLimits): Promise<EdgeOutcome<HostReply>> {
    return this.#call(
      "GET",
      "/agent/v1/host",
      null,
      (bytes) => readReply(parseJson(bytes), hostReplySchema),
      limits,
    );
  }

  /** Asks for no more work; what is there goes, busy workers after their job. */
  drain(limits: CallLimits): Promise<EdgeOutcome<object>> {
    return this.#post("/agent/v1/host/drain", "{}", nothing, limits);
  }

  /** Gives the host token back. */
  leave(limits: CallLimits): Promise<EdgeOutcome<object>> {
    return this.#post("/agent/v1/host/leave", "{}", nothing, limits);
  }

  /** Takes the request as JSON text: results were encoded when they were journalled. */
  exchange(endpointId: string, request: string, limits: CallLimits): Promise<EdgeOutcome<IncomingReply>> {
    const path = `${endpointPath(endpointId)}/exchange`;
    return this.#call("POST", path, request, readExchangeReply, limits);
  }

  /** Brings a large result, as JSON text, to the edge. */
  upload(ref: AttemptRef, result: string, limits: CallLimits): Promise<EdgeOutcome<UploadReply>> {
    const path = `${endpointPath(ref.endpointId)}/results/${encodeURIComponent(ref.jobId)}/${ref.attempt}`;
    return this.#call("PUT", path, result, (bytes) => readReply(parseJson(bytes), uploadReplySchema), limits);
  }

  /** Takes the request as gzipped JSON text. */
  logs(request: Uint8Array<ArrayBuffer>, limits: CallLimits): Promise<EdgeOutcome<LogReply>> {
    const read = (bytes: Buffer) => readReply(parseJson(bytes), logReplySchema);
    return this.#call("POST", "/agent/v1/logs", request, read, limits);
  }

  /** Begins to fetch the packed files of an app; the time limit is for the answer to begin, the signal for all of it. */
  async artifact(
    sha256: string,
    from: number,
    { timeoutMs, signal }: CallLimits,
  ): Promise<EdgeOutcome<ArtifactBytes>> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(new Error("no answer in time")), timeoutMs);
    try {
      const range = from > 0 ? { range: `bytes=${from}-` } : {};
      const request = {
        headers: { ...this.#headers(), ...range },
        redirect: "error" as const,
        signal: AbortSignal.any([signal, timeout.signal]),
      };
      const response = await fetch(`${this.#edgeUrl}/agent/v1/artifacts/${sha256}`, request);
      if (!response.ok || !response.body) return readErrorReply(await response.text(), response.status);
      const isPartial = response.headers.get("content-range")?.startsWith(`bytes ${from}-`) ?? false;
      return { kind: "answered", reply: { from: isPartial ? from : 0, bytes: response.body } };
    } catch (error) {
      return { kind: "unreachable", detail: describeNetworkError(error) };
    } finally {
      clearTimeout(timer);
    }
  }

  #post<Reply>(
    path: string,
    body: string,
    schema: z.ZodType<Reply>,
    limits: CallLimits,
  ): Promise<EdgeOutcome<Reply>> {
    return this.#call("POST", path, body, (bytes) => readReply(parseJson(bytes), schema), limits);
  }

  async #call<Reply>(
    method: "GET" | "POST" | "PUT",
    path: string,
    body: string | Uint8Array<ArrayBuffer> | null,
    read: (bytes: Buffer) => ReadReply<Reply>,
    { timeoutMs, signal }: CallLimits,
  ): Promise<EdgeOutcome<Reply>> {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      // A redirect would take tokens and results to wherever it leads.
      const redirect = "error";
      const request: RequestInit = { method, headers: this.#headers(), body, redirect, signal: limit };
      const response = await fetch(`${this.#edgeUrl}${path}`, request);
      const bytes = Buffer.from(await response.arrayBuffer());
      if (!response.ok) return readErrorReply(bytes.toString(), response.status);
      const reply = read(bytes);
      return typeof reply === "string" ? { kind: "refused", status: response.status, detail: reply } : reply;
    } catch (error) {
      return { kind: "unreachable", detail: describeNetworkError(error) };
    }
  }

  #headers(): Record<string, string> {
    const headers = { "content-type": "application/json" };
    return this.#hostToken === null ? headers : { ...headers, authorization: `Bearer ${this.#hostToken}` };
  }
}

function endpointPath(endpointId: string): string {
  return `/agent/v1/endpoints/${encodeURIComponent(endpointId)}`;
}

/** A reply, or what is wrong with it. */
type ReadReply<Reply> = { readonly kind: "answered"; readonly reply: Reply } | string;

function readReply<Reply>(value: unknown, schema: z.ZodType<Reply>): ReadReply<Reply> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: "answered", reply: parsed.data };
  const issue = parsed.error.issues[0];
  const place = issue?.path.join(".") || "the reply";
  return `a reply that this agent does not understand (${place}: ${issue?.message ?? "invalid"})`;
}

/** Users' values go on to workers as the texts that they are; they may be megabytes. */
function readExchangeReply(bytes: Buffer): ReadReply<IncomingReply> {
  const read = readReply(cutReply(bytes), rawExchangeReplySchema);
  if (typeof read === "string") return read;
  const jobs = read.reply.jobs.map(({ input, s3Config, ...job }) => ({
    ...job,
    input: input.json,
    ...(s3Config && { s3Config: s3Config.json }),
  }));
  return { kind: "answered", reply: { ...read.reply, jobs } };
}

function cutReply(bytes: Buffer): unknown {
  try {
    return cutJson(bytes, EXCHANGE_REPLY_CUTS, { depthMax: Number.POSITIVE_INFINITY });
  } catch {
    return undefined; // no JSON, so no reply either
  }
}

function readErrorReply(text: string, status: number): EdgeOutcome<never> {
  const detail = (errorOf(text) ?? text).slice(0, DETAIL_MAX_LENGTH);
  if (status === 401) return { kind: "unauthorized", detail };
  if (status >= 500) return { kind: "unreachable", detail: `status ${status}: ${detail}` };
  return { kind: "refused", status, detail };
}

/** The edge says what is wrong in one sentence; who stands between may say anything. */
function errorOf(text: string): string | undefined {
  const answer = errorAnswer.safeParse(parseJson(Buffer.from(text)));
  return answer.success ? answer.data.error : undefined;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message || String(error.cause)}` : "";
  return `${error.message}${cause}`;
}
