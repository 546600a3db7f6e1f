import { trimEndOf } from "../../src/net/trimming.ts";
import { parseJson } from "../../src/std/json.ts";
import * as z from "zod";
import {
  EXCHANGE_REPLY_CUTS,
  type RawExchangeReply,
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
import { shortIssues } from "../../src/contract/lenient-list.ts";
import { type LogReply, logReplySchema } from "../../src/contract/agent/log.ts";
import { cutJson } from "../../src/json/raw-json.ts";
import { describeNetworkError, EdgeCalls } from "./edge-calls.ts";

/** How a call to the edge ended. */
export type EdgeOutcome<Reply> =
  | { readonly kind: "answered"; readonly reply: Reply }
  | { readonly kind: "unauthorized"; readonly detail: string }
  /** The edge answers, but rejects this call. `code`: of its error; absent when what answered was something else. */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly code?: string | undefined;
      readonly detail: string;
    }
  | { readonly kind: "unreachable"; readonly detail: string };

export type CallLimits = { readonly timeoutMs: number; readonly signal: AbortSignal };

/** The attempt that a result is of. */
type ResultRef = { readonly endpointId: string; readonly jobId: string; readonly attempt: number };

/** Bytes of an artifact: from the requested offset, or from 0 where the edge sends all of them. */
export type ArtifactBytes = { readonly from: number; readonly bytes: AsyncIterable<Uint8Array> };

/** What stands before an edge may turn away who does not say what it is. */
const PLAIN_HEADERS = { "content-type": "application/json", accept: "*/*", "user-agent": "node" };

const DETAIL_MAX_LENGTH = 300;
const errorAnswer = z.object({ error: z.string(), code: z.string().optional() });
const nothing = z.object({});

/** Makes the agent's calls to the edge and checks every reply. Never throws. */
export class EdgeClient {
  readonly #edgeUrl: string;
  readonly #calls: EdgeCalls;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(edgeUrl: string, hostToken: string | null) {
    this.#edgeUrl = trimEndOf(edgeUrl, "/");
    this.#calls = new EdgeCalls(this.#edgeUrl);
    const authorization = hostToken === null ? {} : { authorization: `Bearer ${hostToken}` };
    this.#headers = { ...PLAIN_HEADERS, ...authorization };
  }

  /**
   * Calls that have no answer end as unreachable. After an outage their connections send again only after as long a
   * time as it has lasted, while another call is answered at once.
   */
  giveUpOpenCalls(): void {
    this.#calls.giveUp(new Error("the network was away"));
  }

  join(request: JoinRequest, limits: CallLimits): Promise<EdgeOutcome<JoinReply>> {
    return this.#call("POST", "/agent/v1/join", JSON.stringify(request), joinReplySchema, limits);
  }

  sync(request: SyncRequest, limits: CallLimits): Promise<EdgeOutcome<SyncReply>> {
    return this.#call("POST", "/agent/v1/sync", JSON.stringify(request), syncReplySchema, limits);
  }

  /** Checks whether the edge accepts this host. */
  host(limits: CallLimits): Promise<EdgeOutcome<HostReply>> {
    return this.#call("GET", "/agent/v1/host", null, hostReplySchema, limits);
  }

  /** Requests no more work; workers are removed, busy ones after their job. */
  drain(limits: CallLimits): Promise<EdgeOutcome<object>> {
    return this.#call("POST", "/agent/v1/host/drain", "{}", nothing, limits);
  }

  /** Removes this host and revokes its token. */
  leave(limits: CallLimits): Promise<EdgeOutcome<object>> {
    return this.#call("POST", "/agent/v1/host/leave", "{}", nothing, limits);
  }

  /** `request` is JSON: results were encoded when they were journalled. */
  exchange(endpointId: string, request: string, limits: CallLimits): Promise<EdgeOutcome<RawExchangeReply>> {
    const path = `${endpointPath(endpointId)}/exchange`;
    return this.#call("POST", path, request, rawExchangeReplySchema, limits, cutReply);
  }

  /** Uploads a large result, which is JSON. */
  upload(ref: ResultRef, result: string, limits: CallLimits): Promise<EdgeOutcome<UploadReply>> {
    const path = `${endpointPath(ref.endpointId)}/results/${encodeURIComponent(ref.jobId)}/${ref.attempt}`;
    return this.#call("PUT", path, result, uploadReplySchema, limits);
  }

  /** `request` is gzipped JSON. */
  logs(request: Uint8Array<ArrayBuffer>, limits: CallLimits): Promise<EdgeOutcome<LogReply>> {
    return this.#call("POST", "/agent/v1/logs", request, logReplySchema, limits);
  }

  /** Downloads the packed files of an app. The timeout is for the start of the answer, the signal for all of it. */
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
        headers: { ...this.#headers, ...range },
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

  async #call<Reply>(
    method: "GET" | "POST" | "PUT",
    path: string,
    body: string | Uint8Array<ArrayBuffer> | null,
    schema: z.ZodType<Reply>,
    { timeoutMs, signal }: CallLimits,
    parse = (bytes: Buffer): unknown => parseJson(bytes.toString()),
  ): Promise<EdgeOutcome<Reply>> {
    try {
      const headers = this.#headers;
      const { status, bytes } = await this.#calls.answer({ method, path, headers, body, timeoutMs, signal });
      if (status < 200 || status > 299) return readErrorReply(bytes.toString(), status);
      const parsed = schema.safeParse(parse(bytes));
      if (parsed.success) return { kind: "answered", reply: parsed.data };
      const detail = `a reply that this agent does not understand (${shortIssues(parsed.error)})`;
      return { kind: "refused", status, detail };
    } catch (error) {
      return { kind: "unreachable", detail: describeNetworkError(error) };
    }
  }
}

function endpointPath(endpointId: string): string {
  return `/agent/v1/endpoints/${encodeURIComponent(endpointId)}`;
}

/** Cuts out users' values, which may be megabytes; undefined for what is not JSON. */
function cutReply(bytes: Buffer): unknown {
  try {
    return cutJson(bytes, EXCHANGE_REPLY_CUTS, { depthMax: Number.POSITIVE_INFINITY });
  } catch {
    return undefined;
  }
}

function readErrorReply(text: string, status: number): EdgeOutcome<never> {
  // An answer without the edge's error is from a proxy, for example.
  const { error = text, code } = errorAnswer.safeParse(parseJson(text)).data ?? {};
  const detail = error.slice(0, DETAIL_MAX_LENGTH);
  if (status === 401) return { kind: "unauthorized", detail };
  // A redirect is not followed: it would send tokens and results to another server.
  if (status >= 500 || (status >= 300 && status < 400))
    return { kind: "unreachable", detail: `status ${status}: ${detail}` };
  return { kind: "refused", status, code, detail };
}
