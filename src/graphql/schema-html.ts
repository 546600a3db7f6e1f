/** The schema of the management API as HTML: an index, and a part for each operation and type, with links between. */
import {
  type DefinitionNode,
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  parse,
  print,
  printSchema,
} from "graphql";

/** One part of the page. */
type Entry = {
  readonly anchor: string;
  readonly title: string;
  readonly source: string;
};

type Group = { readonly title: string; readonly entries: readonly Entry[] };

const KEYWORDS = new Set([
  ...["type", "input", "enum", "scalar", "union", "interface", "implements", "directive", "on"],
  ...["query", "mutation", "repeatable", "schema"],
]);
/** Descriptions, strings, names, and all between. */
const TOKENS = /"""[\s\S]*?"""|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|[^A-Za-z_"]+|"/g;

/** The index and the parts, for {@link schemaPageRoutes}. */
export function schemaHtml(schema: GraphQLSchema): { readonly index: string; readonly parts: string } {
  const groups = groupsOf(schema);
  const typeNames = new Set(groups.flatMap(({ entries }) => entries.map(({ title }) => title)));
  return {
    index: groups.map(indexOf).join("\n"),
    parts: groups.map((group) => partsOf(group, typeNames)).join("\n"),
  };
}

function groupsOf(schema: GraphQLSchema): readonly Group[] {
  const document = parse(printSchema(schema), { noLocation: true });
  const kind = (nodeKind: Kind): readonly Entry[] =>
    document.definitions
      .filter((definition) => definition.kind === nodeKind && !isRoot(definition))
      .map((definition) => entryOf(nameOf(definition), print(definition)))
      .toSorted(byTitle);
  return [
    { title: "Queries", entries: operationsOf(document, "Query") },
    { title: "Mutations", entries: operationsOf(document, "Mutation") },
    { title: "Objects", entries: kind(Kind.OBJECT_TYPE_DEFINITION) },
    { title: "Inputs", entries: kind(Kind.INPUT_OBJECT_TYPE_DEFINITION) },
    { title: "Enums", entries: kind(Kind.ENUM_TYPE_DEFINITION) },
    { title: "Scalars", entries: kind(Kind.SCALAR_TYPE_DEFINITION) },
    { title: "Unions", entries: kind(Kind.UNION_TYPE_DEFINITION) },
    { title: "Interfaces", entries: kind(Kind.INTERFACE_TYPE_DEFINITION) },
    { title: "Directives", entries: kind(Kind.DIRECTIVE_DEFINITION) },
  ].filter(({ entries }) => entries.length > 0);
}

function operationsOf(document: DocumentNode, root: "Query" | "Mutation"): readonly Entry[] {
  const fields = document.definitions.flatMap((definition) =>
    definition.kind === Kind.OBJECT_TYPE_DEFINITION && definition.name.value === root
      ? (definition.fields ?? [])
      : [],
  );
  return fields.map((field) => entryOf(field.name.value, print(field), root)).toSorted(byTitle);
}

function isRoot(definition: DefinitionNode): boolean {
  return ["Query", "Mutation"].includes(nameOf(definition));
}

function nameOf(definition: DefinitionNode): string {
  return "name" in definition && definition.name !== undefined && "value" in definition.name
    ? definition.name.value
    : "";
}

function entryOf(title: string, source: string, root?: string): Entry {
  return { anchor: root === undefined ? title : `${root}.${title}`, title, source };
}

function byTitle(one: Entry, other: Entry): number {
  return one.title < other.title ? -1 : 1;
}

function indexOf({ title, entries }: Group): string {
  const items = entries.map(({ anchor, title: name }) => `<li><a href="#${anchor}">${name}</a></li>`);
  return `<details open><summary>${title} <small>${entries.length}</small></summary><ul>${items.join("")}</ul></details>`;
}

function partsOf({ title, entries }: Group, typeNames: ReadonlySet<string>): string {
  const parts = entries.map(
    ({ anchor, title: name, source }) =>
      `<section id="${anchor}"><h3>${name}</h3><pre><code>${highlighted(source, typeNames)}</code></pre></section>`,
  );
  return `<h2>${title}</h2>${parts.join("\n")}`;
}

function highlighted(source: string, typeNames: ReadonlySet<string>): string {
  const tokens = source.match(TOKENS) ?? [];
  return tokens.map((token, at) => highlightedToken(token, tokens[at + 1] ?? "", typeNames)).join("");
}

function highlightedToken(token: string, next: string, typeNames: ReadonlySet<string>): string {
  const text = escapeHtml(token);
  if (token.startsWith('"')) return `<span class="description">${text}</span>`;
  if (/^\s*[:(]/.test(next)) return `<span class="field">${text}</span>`;
  if (KEYWORDS.has(token)) return `<span class="keyword">${text}</span>`;
  return typeNames.has(token) && /^[A-Z]/.test(token) ? `<a href="#${token}">${text}</a>` : text;
}

const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }),
);

/** A text as it may stand in an element or an attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES.get(character) ?? character);
}
