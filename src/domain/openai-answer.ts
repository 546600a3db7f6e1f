/** What a worker returned, and what of it is the answer to an OpenAI request that is not streamed. */
import type { JsonValue } from "../contract/json.ts";

/**
 * Engines yield their answer as the one element of a stream: as a value, as JSON text, in lines or whole, or in a
 * batch. Handlers that do not yield return it. Undefined when there is none.
 */
export function answerOf(output: JsonValue | undefined): JsonValue | undefined {
  const value = Array.isArray(output) ? answerOfChunks(output) : output;
  if (typeof value === "string") return readJson(value) ?? value;
  return value ?? undefined;
}

function answerOfChunks(chunks: readonly JsonValue[]): JsonValue | undefined {
  const [first] = chunks;
  if (Array.isArray(first)) return answerOfChunks(first);
  return chunks.every((chunk) => typeof chunk === "string") ? chunks.join("\n") || undefined : first;
}

function readJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
