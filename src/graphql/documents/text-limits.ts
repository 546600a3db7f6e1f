/** Bounds of a document's text, checked before it is parsed: the parser calls itself for what is nested. */
import { GraphQLError, Lexer, Source, TokenKind, type Token } from "graphql";

/** Bounds the work of the parser; documents within the other limits are far smaller. */
const GRAPHQL_TOKENS_MAX = 20_000;

/** Brackets within brackets, so that the parser's recursion stays shallow; the standard documents have 15. */
export const GRAPHQL_NESTING_MAX = 50;

const GRAPHQL_NAME_MAX_CHARACTERS = 200;

const OPENING: readonly string[] = [TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L];
const CLOSING: readonly string[] = [TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R];

/** Says which bound the text exceeds, if any. A text that is no GraphQL is left to the parser. */
export function exceededTextLimit(query: string): string | undefined {
  if (hasMoreComments(query, GRAPHQL_TOKENS_MAX)) {
    return `The document has more than ${GRAPHQL_TOKENS_MAX} comments.`;
  }
  const lexer = new Lexer(new Source(query));
  let nesting = 0;
  try {
    for (let count = 0; lexer.advance().kind !== TokenKind.EOF; count += 1) {
      const { token } = lexer;
      nesting += stepOf(token);
      const exceeded = exceededBy(token, nesting, count);
      if (exceeded !== undefined) return exceeded;
    }
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
  }
  return undefined;
}

/** Counted apart, since the lexer passes over all that stand in a row at once, and keeps them. */
function hasMoreComments(query: string, max: number): boolean {
  let count = 0;
  for (const _comment of query.matchAll(/#[^\n\r]*/g)) {
    count += 1;
    if (count > max) return true;
  }
  return false;
}

function stepOf({ kind }: Token): number {
  return Number(OPENING.includes(kind)) - Number(CLOSING.includes(kind));
}

function exceededBy(token: Token, nesting: number, count: number): string | undefined {
  if (count >= GRAPHQL_TOKENS_MAX) return `The document has more than ${GRAPHQL_TOKENS_MAX} tokens.`;
  if (nesting > GRAPHQL_NESTING_MAX) {
    return `The document has more than ${GRAPHQL_NESTING_MAX} brackets within each other.`;
  }
  const isLongName = token.kind === TokenKind.NAME && token.end - token.start > GRAPHQL_NAME_MAX_CHARACTERS;
  return isLongName
    ? `The document holds a name of more than ${GRAPHQL_NAME_MAX_CHARACTERS} characters.`
    : undefined;
}
