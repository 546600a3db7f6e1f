import type { z } from "zod";
import {
  type ExchangeReply,
  exchangeReplySchema,
  type JoinReply,
  type JoinRequest,
  joinReplySchema,
  type SyncReply,
  type SyncRequest,
  syncReplySchema,
} from "../../src/contract/agent.ts";

/** How a call to the edge ended. */
export type EdgeOutcome<Reply> =
  | { readonly kind: "answered"; readonly reply: Reply }
  | { readonly kind: "unauthorized"; readonly detail: string }
  /** The edge answers, but not to this call. */
  | { readonly kind: "refused"; readonly status: number; readonly detail: string }
  | { readonly kind: "unreachable"; readonly detail: string };

export type CallLimits = { readonly timeoutMs: number; readonly signal: AbortSignal };

const DETAIL_MAX_LENGTH = 300;

/** Makes the agent's calls to the edge and checks every reply. Never throws. */
export class EdgeClient {
  readonly #edgeUrl: string;
  readonly #hostToken: string | null;

  constructor(edgeUrl: string, hostToken: string | null) {
    this.#edgeUrl = edgeUrl.replace(/\/+$/, "");
    this.#hostToken = hostToken;
  }

  join(request: JoinRequest, limits: CallLimits): Promise<EdgeOutcome<JoinReply>> {
    return this.#post("/agent/v1/join", JSON.stringify(request), joinReplySchema, limits);
  }

  sync(request: SyncRequest, limits: CallLimits): Promise<EdgeOutcome<SyncReply>> {
    return this.#post("/agent/v1/sync", JSON.stringify(request), syncReplySchema, limits);
  }

  /** Takes the request as JSON text: results were encoded when they were journalled. */
  exchange(endpointId: string, request: string, limits: CallLimits): Promise<EdgeOutcome<ExchangeReply>> {
    const path = `/agent/v1/endpoints/${encodeURIComponent(endpointId)}/exchange`;
    return this.#post(path, request, exchangeReplySchema, limits);
  }

  async #post<Reply>(
    path: string,
    body: string,
    schema: z.ZodType<Reply>,
    { timeoutMs, signal }: CallLimits,
  ): Promise<EdgeOutcome<Reply>> {
    try {
      const response = await fetch(`${this.#edgeUrl}${path}`, {
        method: "POST",
        headers: this.#headers(),
        body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      const text = await response.text();
      return response.ok ? readReply(text, response.status, schema) : readRefusal(text, response.status);
    } catch (error) {
      return { kind: "unreachable", detail: describeNetworkError(error) };
    }
  }

  #headers(): Record<string, string> {
    const headers = { "content-type": "application/json" };
    return this.#hostToken === null ? headers : { ...headers, authorization: `Bearer ${this.#hostToken}` };
  }
}

function readReply<Reply>(text: string, status: number, schema: z.ZodType<Reply>): EdgeOutcome<Reply> {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return { kind: "answered", reply: parsed.data };
  const issue = parsed.error.issues[0];
  const place = issue?.path.join(".") || "the reply";
  const detail = `a reply that this agent does not understand (${place}: ${issue?.message ?? "invalid"})`;
  return { kind: "refused", status, detail };
}

function readRefusal(text: string, status: number): EdgeOutcome<never> {
  const detail = text.slice(0, DETAIL_MAX_LENGTH);
  if (status === 401) return { kind: "unauthorized", detail };
  if (status >= 500) return { kind: "unreachable", detail: `status ${status}: ${detail}` };
  return { kind: "refused", status, detail };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describeNetworkError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message || String(error.cause)}` : "";
  return `${error.message}${cause}`;
}
