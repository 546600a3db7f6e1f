/**
 * What a worker returned, and what of it is the answer to an OpenAI request that is not streamed. All values are
 * JSON texts: an answer is passed on as it was written.
 */
import { elementsOf } from "../contract/json-text.ts";

/**
 * Engines yield their answer as the one element of a stream: as a value, as JSON text, in lines or whole, or in a
 * batch. Handlers that do not yield return it. Undefined when there is none.
 */
export function answerOf(output: string | undefined): string | undefined {
  if (output === undefined || output === "null") return undefined;
  if (output.startsWith("[")) return answerOfChunks(elementsOf(output));
  return output.startsWith('"') ? answerInText(JSON.parse(output) as string) : output;
}

/** The same of what a handler yielded. */
export function answerOfChunks(chunks: readonly string[], listsAround = 0): string | undefined {
  const [first] = chunks;
  if (first === undefined || first === "null") return undefined;
  if (first.startsWith("[") && listsAround < LISTS_MAX)
    return answerOfChunks(elementsOf(first), listsAround + 1);
  const isText = chunks.every((chunk) => chunk.startsWith('"'));
  if (isText) return answerInText(chunks.map((chunk) => JSON.parse(chunk) as string).join("\n"));
  return first.startsWith('"') ? answerInText(JSON.parse(first) as string) : first;
}

/** Each list in a list is read once more: what is nested deeper is the answer. */
const LISTS_MAX = 8;

/** Text may be the JSON text of the answer. */
function answerInText(text: string): string | undefined {
  if (text === "") return undefined;
  return isAnswer(text) ? text : JSON.stringify(text);
}

function isAnswer(text: string): boolean {
  try {
    return JSON.parse(text) !== null;
  } catch {
    return false;
  }
}
