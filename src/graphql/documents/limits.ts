/**
 * Bounds of a GraphQL document, checked before it is validated.
 *
 * Fragments count where they are spread, as often as they are, and what is written counts as well, spread or
 * not. Introspection is exempt from depth: its standard document is deeper than any other. It stands without
 * aliases, so that what it answers is bounded by the schema, and validation bounds how lists nest in it.
 */
import {
  Kind,
  visit,
  GraphQLError,
  Lexer,
  Source,
  TokenKind,
  type DocumentNode,
  type FragmentDefinitionNode,
  type SelectionSetNode,
  type Token,
} from "graphql";

const GRAPHQL_DEPTH_MAX = 10;
const GRAPHQL_FIELDS_MAX = 200;
const GRAPHQL_ALIASES_PER_LEVEL_MAX = 50;
/** As written, in unused fragments and in introspection too: validation compares them in pairs. */
export const GRAPHQL_SELECTIONS_MAX = 500;

const GRAPHQL_OPERATIONS_MAX = 10;
const GRAPHQL_DIRECTIVES_MAX = 50;

const INTROSPECTION: readonly string[] = ["__schema", "__type"];

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Reports which limit a document exceeds, if any. */
export function exceededLimit(document: DocumentNode): string | undefined {
  return exceededAsWritten(document) ?? exceededAsSpread(document);
}

function exceededAsWritten(document: DocumentNode): string | undefined {
  const counts = { operations: 0, selections: 0, directives: 0, aliases: 0, introspections: 0 };
  visit(document, {
    OperationDefinition: () => void (counts.operations += 1),
    SelectionSet: ({ selections }) => void (counts.selections += selections.length),
    Directive: () => void (counts.directives += 1),
    Field: ({ alias, name }) => {
      counts.aliases += alias === undefined ? 0 : 1;
      counts.introspections += INTROSPECTION.includes(name.value) ? 1 : 0;
    },
  });
  const { operations, selections, directives, aliases, introspections } = counts;
  if (operations > GRAPHQL_OPERATIONS_MAX) return tooMany(GRAPHQL_OPERATIONS_MAX, "operations");
  if (selections > GRAPHQL_SELECTIONS_MAX) return tooMany(GRAPHQL_SELECTIONS_MAX, "selections");
  if (directives > GRAPHQL_DIRECTIVES_MAX) return tooMany(GRAPHQL_DIRECTIVES_MAX, "directives");
  return introspections > 0 && aliases > 0 ? "A document that introspects may have no aliases." : undefined;
}

function tooMany(max: number, what: string): string {
  return `The document has more than ${max} ${what}.`;
}

function exceededAsSpread(document: DocumentNode): string | undefined {
  const fragments: Fragments = new Map(
    document.definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );
  const tally = new Tally();
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const exceeded = measure(definition.selectionSet, { fragments, tally, depth: 1, spreads: [] });
    if (exceeded !== undefined) return exceeded;
  }
  return undefined;
}

type Place = {
  readonly fragments: Fragments;
  readonly tally: Tally;
  readonly depth: number;
  /** Fragments around this place; one of them again would be a cycle, which validation refuses. */
  readonly spreads: readonly string[];
};

function measure(selectionSet: SelectionSetNode, place: Place): string | undefined {
  for (const selection of selectionSet.selections) {
    const inside = enter(selection, place);
    const exceeded =
      typeof inside === "string" ? inside : inside && measure(inside.selectionSet, inside.place);
    if (exceeded !== undefined) return exceeded;
  }
  return undefined;
}

type Inside = { readonly selectionSet: SelectionSetNode; readonly place: Place };

/** Counts one selection; gives what lies inside it, or the bound that it exceeds. */
function enter(selection: SelectionSetNode["selections"][number], place: Place): Inside | string | undefined {
  if (selection.kind === Kind.INLINE_FRAGMENT) return { selectionSet: selection.selectionSet, place };
  const name = selection.name.value;

  if (selection.kind === Kind.FRAGMENT_SPREAD) {
    const fragment = place.fragments.get(name);
    if (fragment === undefined || place.spreads.includes(name)) return place.tally.countSpread();
    const exceeded = place.tally.countSpread();
    if (exceeded !== undefined) return exceeded;
    return { selectionSet: fragment.selectionSet, place: { ...place, spreads: [...place.spreads, name] } };
  }
  const exceeded = place.tally.countField(place.depth, selection.alias !== undefined);
  if (exceeded !== undefined || selection.selectionSet === undefined || name.startsWith("__"))
    return exceeded;
  return { selectionSet: selection.selectionSet, place: { ...place, depth: place.depth + 1 } };
}

class Tally {
  #fields = 0;
  #spreads = 0;
  readonly #aliasesByDepth = new Map<number, number>();

  countField(depth: number, isAliased: boolean): string | undefined {
    this.#fields += 1;
    const aliases = (this.#aliasesByDepth.get(depth) ?? 0) + (isAliased ? 1 : 0);
    this.#aliasesByDepth.set(depth, aliases);

    if (depth > GRAPHQL_DEPTH_MAX) return `The document is nested deeper than ${GRAPHQL_DEPTH_MAX} levels.`;
    if (aliases > GRAPHQL_ALIASES_PER_LEVEL_MAX) {
      return `The document has more than ${GRAPHQL_ALIASES_PER_LEVEL_MAX} aliases on one level.`;
    }
    return this.#fields > GRAPHQL_FIELDS_MAX
      ? `The document selects more than ${GRAPHQL_FIELDS_MAX} fields.`
      : undefined;
  }

  /** Fragments that hold only fragments would cost time without ever selecting a field. */
  countSpread(): string | undefined {
    this.#spreads += 1;
    return this.#spreads > GRAPHQL_FIELDS_MAX
      ? `The document spreads more than ${GRAPHQL_FIELDS_MAX} fragments.`
      : undefined;
  }
}

/** Bounds the work of the parser; documents within the other limits are far smaller. */
const GRAPHQL_TOKENS_MAX = 20_000;

/** Brackets within brackets, so that the parser's recursion stays shallow; the standard documents have 15. */
export const GRAPHQL_NESTING_MAX = 50;

const GRAPHQL_NAME_MAX_CHARACTERS = 200;

const OPENING: readonly string[] = [TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L];
const CLOSING: readonly string[] = [TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R];

/** Reports which limit the text exceeds, if any. Text that is not GraphQL is left to the parser. */
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
