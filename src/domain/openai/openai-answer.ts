/**
 * What a worker returned, and what of it is the answer to an OpenAI request that is not streamed. All values are
 * JSON texts: an answer is passed on as it was written.
 */
import { elementsOf, isJson } from "../../json/raw-json.ts";

/**
 * Engines yield their answer as the one element of a stream: as a value, as JSON text, in lines or whole, or in a
 * batch. Handlers that do not yield return it. Undefined when there is no answer.
 */
export function answerOf(output: string | undefined): string | undefined {
  if (output === undefined || output === "null") return undefined;
  if (output.startsWith("[")) return answerOfChunks(elementsOf(output));
  return output.startsWith('"') ? answerInString(JSON.parse(output) as string) : output;
}

/** The same of what a handler yielded. It is read only as far as it matters. */
export function answerOfChunks(chunks: Iterable<string>, listsAround = 0): string | undefined {
  const strings: string[] = [];
  for (const chunk of chunks) {
    if (chunk.startsWith('"')) {
      strings.push(JSON.parse(chunk) as string);
      continue;
    }
    const [first] = strings;
    if (first !== undefined) return answerInString(first);
    if (chunk === "null") return undefined;
    if (!chunk.startsWith("[") || listsAround === LISTS_MAX) return chunk;
    return answerOfChunks(elementsOf(chunk), listsAround + 1);
  }
  return strings.length === 0 ? undefined : answerInString(strings.join("\n"));
}

/** Each list in a list is read once more: what is nested deeper is the answer. */
const LISTS_MAX = 3;

/** Text may be the JSON text of the answer. */
function answerInString(value: string): string | undefined {
  if (value === "") return undefined;
  return isJson(value) && value.trim() !== "null" ? value : JSON.stringify(value);
}
