import type { LoneEdge } from "../../support/lone-edge.ts";
import type { Desk } from "./flash-command.ts";

/** What differs from run to run, and the word that stands for it in a scenario file. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
  [/\b[0-9a-f]{64}\b/g, "<sha256>"],
  [/\b\d+(\.\d+)? (ms|s)\b/g, "<seconds>"],
  [/\b(?=[a-z0-9]*[0-9])(?=[a-z0-9]*[a-z])[a-z0-9]{14,32}\b/g, "<id>"],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<id>"],
];

/** Lines of an output with words in place of what differs. Throws when a key is in it. */
export function plainOutput(
  text: string,
  surroundings: { readonly desk: Desk; readonly edge: LoneEdge | undefined },
): string[] {
  const { desk, edge } = surroundings;
  if (edge && text.includes(edge.apiKey)) throw new Error("the output shows the API key");
  if (text === "") return [];
  const named = text
    .replaceAll(desk.project, "<project>")
    .replaceAll(desk.home, "<home>")
    .replaceAll(desk.root, "<root>")
    .replaceAll(edge?.baseUrl ?? "\0", "<edge>");
  const plain = PATTERNS.reduce((left, [pattern, word]) => left.replaceAll(pattern, word), named);
  return plain
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());
}
