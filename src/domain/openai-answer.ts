/**
 * What a worker returned, and what of it is the answer to an OpenAI request that is not streamed. All values are
 * JSON texts: an answer is passed on as it was written.
 */
import { elementsOf, isJson } from "../contract/json-text.ts";

/**
 * Engines yield their answer as the one element of a stream: as a value, as JSON text, in lines or whole, or in a
 * batch. Handlers that do not yield return it. Undefined when there is none.
 */
export function answerOf(output: string | undefined): string | undefined {
  if (output === undefined || output === "null") return undefined;
  if (output.startsWith("[")) return answerOfChunks(elementsOf(output));
  return output.startsWith('"') ? answerInText(JSON.parse(output) as string) : output;
}

/** The same of what a handler yielded. It is read only as far as it matters. */
export function answerOfChunks(chunks: Iterable<string>, listsAround = 0): string | undefined {
  const texts: string[] = [];
  for (const chunk of chunks) {
    if (chunk.startsWith('"')) {
      texts.push(JSON.parse(chunk) as string);
      continue;
    }
    const [first] = texts;
    if (first !== undefined) return answerInText(first);
    if (chunk === "null") return undefined;
    if (!chunk.startsWith("[") || listsAround === LISTS_MAX) return chunk;
    return answerOfChunks(elementsOf(chunk), listsAround + 1);
  }
  return texts.length === 0 ? undefined : answerInText(texts.join("\n"));
}

/** Each list in a list is read once more: what is nested deeper is the answer. */
const LISTS_MAX = 3;

/** Text may be the JSON text of the answer. */
function answerInText(text: string): string | undefined {
  if (text === "") return undefined;
  return isJson(text) && text.trim() !== "null" ? text : JSON.stringify(text);
}
