import type { EdgeAccess } from "../../support/lone-edge.ts";
import type { CommandFixture } from "./flash-command.ts";

/** What differs from run to run, and the word that stands for it in a scenario file. */
const PATTERNS: readonly (readonly [string, string])[] = [
  [String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`, "<time>"],
  [String.raw`\b[0-9a-f]{64}\b`, "<sha256>"],
  [String.raw`\b\d+(?:\.\d+)? (?:ms|s)\b`, "<seconds>"],
  [String.raw`(?<="seconds": )\d+(?:\.\d+)?`, "<seconds>"],
  [String.raw`(?<=\blocalhost:|\b[Pp]ort )\d+`, "<port>"],
  [String.raw`\b\d+(?:\.\d+)? [kM]B\b`, "<size>"],
  [String.raw`(?<="sizeBytes": )\d+`, "<size>"],
];

/** Lines that a command prints only where something takes long. */
const ONLY_WHERE_SLOW = /^Deleting live endpoints\./;

export type Surroundings = {
  readonly fixture: CommandFixture;
  readonly edge: EdgeAccess | undefined;
  /** Ids that the edge has given. */
  readonly ids: ReadonlySet<string>;
};

/** Lines of an output with words in place of what differs. Throws when a key is in it. */
export function plainOutput(text: string, { fixture, edge, ids }: Surroundings): string[] {
  if (edge && text.includes(edge.apiKey)) throw new Error("the output shows the API key");
  if (text === "") return [];
  const named = text
    .replaceAll(fixture.project, "<project>")
    .replaceAll(fixture.home, "<home>")
    .replaceAll(fixture.root, "<root>")
    .replaceAll(edge?.baseUrl ?? "\0", "<edge>");
  const patterns = [...PATTERNS, ...[...ids].map((id) => [id, "<id>"] as const)];
  const plain = patterns.reduce((left, [pattern, word]) => inPlace(left, pattern, word), named);
  return plain
    .trimEnd()
    .split("\n")
    .filter((line) => !ONLY_WHERE_SLOW.test(line))
    .map((line) => line.trimEnd());
}

/** Columns of a table stay below each other. */
function inPlace(text: string, pattern: string, word: string): string {
  return text
    .replaceAll(new RegExp(`${pattern}(?=  )`, "g"), (found) => word.padEnd(found.length))
    .replaceAll(new RegExp(pattern, "g"), word);
}
