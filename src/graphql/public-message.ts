/**
 * Messages of the GraphQL engine without what the client sent, which may be a secret. Names of types and known
 * fields stay; literals, values of variables and pieces of the document do not.
 */
import { cutMessage } from "../contract/errors.ts";

/** What follows the first match of one of these is what the client sent. Repetitions are bounded: names are short. */
const BEFORE_QUOTATION: readonly RegExp[] = [
  / cannot represent [\w -]{0,60}value(?=: )/,
  /type "(?:Secret|\w{0,60}RegistryAuth)\w{0,60}!?" not to include unknown field(?= ")/,
  /(?=, but encountered error "|[,;.?] found: )/i,
  /(?:found|Unexpected) (?:Name|String|BlockString|Int|Float|Comment)(?= ")/,
  /^Syntax Error: Invalid (?:(?:character|Unicode) escape sequence|character within String)(?=: )/,
  /^Syntax Error: Invalid number(?=, )/,
];

/** A message of the GraphQL engine as it may be sent and logged: cut first, so that what is searched is short. */
export function publicMessage(message: string): string {
  const cut = cutMessage(message);
  for (const pattern of BEFORE_QUOTATION) {
    const match = pattern.exec(cut);
    if (match) return `${cut.slice(0, match.index + match[0].length)}.`;
  }
  return cut;
}
