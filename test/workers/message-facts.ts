/** Patterns for messages that claim the names and numbers in them, and leave their wording open. */

/** The path of the member that is wrong, and what else the message names. */
export type Issue = readonly [path: string, ...facts: (string | number)[]];

/** Matches a message that begins with this path and holds these names and numbers, in any order. */
export function issueAt(...[path, ...facts]: Issue): RegExp {
  return new RegExp(`^${escaped(path)}(?![\\w.[])${lookaheads(facts)}`);
}

/** Matches a message that holds these names and numbers, in any order. */
export function holding(...facts: readonly (string | number)[]): RegExp {
  return new RegExp(`^${lookaheads(facts)}`);
}

function lookaheads(facts: readonly (string | number)[]): string {
  return facts.map((fact) => `(?=[^]*(?<!\\w)${escaped(`${fact}`)}(?!\\w))`).join("");
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
