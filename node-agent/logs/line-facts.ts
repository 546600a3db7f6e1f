import { LOG_FIELD_MAX_CHARACTERS } from "../../src/contract/agent/log.ts";

/** What a line says of itself. Workers' SDKs write `{"requestId", "message", "level"}`. */

export type LineFacts = { readonly jobId?: string; readonly level?: string };

export function readFacts(text: string): LineFacts {
  if (!text.startsWith("{") || !text.includes('"level"')) return {};
  try {
    const { requestId, level } = JSON.parse(text) as Record<string, unknown>;
    return { ...(isWord(requestId) && { jobId: requestId }), ...(isWord(level) && { level }) };
  } catch {
    return {};
  }
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= LOG_FIELD_MAX_CHARACTERS;
}
