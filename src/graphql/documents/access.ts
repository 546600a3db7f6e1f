/** The access that a document needs; determined before it is validated. */
import {
  getOperationAST,
  Kind,
  OperationTypeNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  type SelectionSetNode,
} from "graphql";

const TYPENAME = "__typename";

/** Whether all that a document asks of the root are these fields (and __typename beside them). */
export function selectsOnly(document: DocumentNode, fields: ReadonlySet<string>): boolean {
  const selected = rootFields(document, operationsOf(document));
  selected.delete(TYPENAME);
  return selected.size > 0 && [...selected].every((field) => fields.has(field));
}

/** The access to the management API that the operation of a document needs; none for what any key may see. */
export function neededAccess(
  document: DocumentNode,
  operationName: string | null | undefined,
): "none" | "read" | "write" {
  const chosen = getOperationAST(document, operationName);
  // Where none can be chosen nothing is executed, so the highest need of all is right.
  const operations = chosen ? [chosen] : operationsOf(document);
  if (operations.some(({ operation }) => operation !== OperationTypeNode.QUERY)) return "write";
  const isIntrospection = [...rootFields(document, operations)].every((field) => field.startsWith("__"));
  return isIntrospection ? "none" : "read";
}

function operationsOf(document: DocumentNode) {
  return document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
}

type Rooted = { readonly selectionSet: SelectionSetNode };

/** Names, not aliases, of the root fields that are selected, through fragments of any kind. */
function rootFields(document: DocumentNode, operations: readonly Rooted[]): Set<string> {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const fields = new Set<string>();
  const open: SelectionSetNode[] = operations.map(({ selectionSet }) => selectionSet);
  for (let set = open.pop(); set !== undefined; set = open.pop()) {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) fields.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) open.push(selection.selectionSet);
      else {
        const name = selection.name.value;
        const fragment = fragments.get(name);
        fragments.delete(name); // Each is looked at once, however often and in whatever circle it is spread.
        if (fragment !== undefined) open.push(fragment.selectionSet);
      }
    }
  }
  return fields;
}
