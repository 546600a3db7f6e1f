/**
 * What GraphQL says of a fault, without what the client sent: it may be a secret. Names of types and known
 * fields stay; literals, values of variables and pieces of the document do not.
 */

/** Each takes away what follows its first group. */
const QUOTATIONS: readonly RegExp[] = [
  /^([\s\S]*? cannot represent [\w -]*?value): [\s\S]*$/,
  /^([\s\S]*?Expected value of [\s\S]*?type "(?:Secret|\w*RegistryAuth)\w*!?" not to include unknown field) "[\s\S]*$/,
  /^([\s\S]*?)(?:, but encountered error "[\s\S]*|[,;.?] found: [\s\S]*)$/i,
  /^(Syntax Error: [\s\S]*?(?:found|Unexpected) (?:Name|String|BlockString|Int|Float|Comment)) "[\s\S]*$/,
  /^(Syntax Error: Invalid (?:character|Unicode) escape sequence): [\s\S]*$/,
  /^(Syntax Error: Invalid character within String): [\s\S]*$/,
  /^(Syntax Error: Invalid number), [\s\S]*$/,
];

/** A message of the GraphQL engine in words that may be sent and logged. */
export function withoutQuotation(message: string): string {
  const quoting = QUOTATIONS.find((pattern) => pattern.test(message));
  return quoting === undefined ? message : message.replace(quoting, "$1.");
}
