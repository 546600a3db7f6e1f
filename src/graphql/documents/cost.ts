/**
 * What a document may cost, estimated before it is executed and after it was validated.
 *
 * Every field costs 1, and what stands below a list counts as often as the list is assumed to have elements:
 * many where an account owns them, few where they are parts of one thing.
 * Fields that write or that ask a Durable Object weigh more. Introspection asks nothing and costs nothing.
 */
import {
  getNamedType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLOutputType,
  type GraphQLSchema,
  type SelectionSetNode,
} from "graphql";

/** Five times the cost of the most expensive document that a surveyed client sends. */
export const GRAPHQL_COST_MAX = 25_000;

/** Elements that a list of what an account owns is assumed to have. */
const GRAPHQL_LIST_SIZE_ASSUMED = 20;

/** Elements that a list of parts of one thing is assumed to have: workers of an endpoint, variables of a template. */
const GRAPHQL_CHILDREN_ASSUMED = 4;

/** A mutation writes, and notifies objects. */
const GRAPHQL_MUTATION_COST = 1_000;

/** A field that needs a call to a Durable Object. */
const GRAPHQL_OBJECT_COST = 10;

/** Fields that ask an object. */
const WEIGHTS: ReadonlyMap<string, number> = new Map([
  ["Endpoint.pods", GRAPHQL_OBJECT_COST],
  ["Endpoint.rollout", GRAPHQL_OBJECT_COST],
  ["Endpoint.workersStandby", GRAPHQL_OBJECT_COST],
  ["Endpoint.metrics", 5 * GRAPHQL_OBJECT_COST],
  ["User.usage", GRAPHQL_OBJECT_COST],
  ["User.hosts", GRAPHQL_OBJECT_COST],
  ["User.budgets", GRAPHQL_OBJECT_COST],
  ["ApiKey.hosts", GRAPHQL_OBJECT_COST],
]);

/** What stands in their lists grows with the account; any other list holds parts of one thing. */
const OWNERS: ReadonlySet<string> = new Set(["Query", "User"]);

export type DocumentCost = {
  readonly total: number;
  /** The field whose own members cost most, as `myself.endpoints.pods`; empty for a document without fields. */
  readonly mostExpensive: string;
};

/** Reports that a document costs too much, if it does. */
export function exceededCost(schema: GraphQLSchema, document: DocumentNode): string | undefined {
  const { total, mostExpensive } = costOf(schema, document);
  if (total <= GRAPHQL_COST_MAX) return undefined;
  return (
    `The document may cost ${total}; at most ${GRAPHQL_COST_MAX} is allowed. The most expensive field is ${mostExpensive}. ` +
    "Ask for fewer fields below lists, or in several requests."
  );
}

/** The cost of the most expensive operation of a valid document. */
export function costOf(schema: GraphQLSchema, document: DocumentNode): DocumentCost {
  const costs = document.definitions
    .filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
    .map(({ operation, selectionSet }) => {
      const estimate = new Estimate(schema, document);
      estimate.add(selectionSet, { typeName: schema.getRootType(operation)?.name ?? "", path: "", times: 1 });
      return estimate.cost();
    });
  return costs.toSorted((a, b) => b.total - a.total)[0] ?? { total: 0, mostExpensive: "" };
}

type Place = { readonly typeName: string; readonly path: string; readonly times: number };

class Estimate {
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** By path: aliases of one field count together. */
  readonly #costs = new Map<string, number>();

  constructor(schema: GraphQLSchema, document: DocumentNode) {
    this.#schema = schema;
    const fragments = document.definitions.filter(
      (definition) => definition.kind === Kind.FRAGMENT_DEFINITION,
    );
    this.#fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
  }

  cost(): DocumentCost {
    const [mostExpensive] = [...this.#costs].toSorted(([, a], [, b]) => b - a);
    const total = [...this.#costs.values()].reduce((sum, cost) => sum + cost, 0);
    return { total, mostExpensive: mostExpensive?.[0] ?? "" };
  }

  add(selectionSet: SelectionSetNode, place: Place): void {
    for (const selection of selectionSet.selections) {
      if (selection.kind === Kind.FIELD) this.#addField(selection, place);
      else {
        const fragment =
          selection.kind === Kind.INLINE_FRAGMENT ? selection : this.#fragments.get(selection.name.value);
        const typeName = fragment?.typeCondition?.name.value ?? place.typeName;
        if (fragment) this.add(fragment.selectionSet, { ...place, typeName });
      }
    }
  }

  #addField({ name: { value: name }, selectionSet }: FieldNode, place: Place): void {
    const parent = this.#schema.getType(place.typeName);
    const field = isObjectType(parent) ? parent.getFields()[name] : undefined;
    if (field === undefined) return; // introspection
    const cost = place.times * this.#weightOf(place.typeName, name);
    if (selectionSet === undefined && place.path !== "") return this.#addCost(place.path, cost);

    const path = place.path === "" ? name : `${place.path}.${name}`;
    this.#addCost(path, cost);
    if (selectionSet === undefined) return;
    const size =
      isObjectType(parent) && OWNERS.has(parent.name) ? GRAPHQL_LIST_SIZE_ASSUMED : GRAPHQL_CHILDREN_ASSUMED;
    const times = place.times * (isList(field.type) ? size : 1);
    this.add(selectionSet, { typeName: getNamedType(field.type).name, path, times });
  }

  #weightOf(typeName: string, fieldName: string): number {
    const isMutation = typeName === this.#schema.getMutationType()?.name;
    return isMutation ? GRAPHQL_MUTATION_COST : (WEIGHTS.get(`${typeName}.${fieldName}`) ?? 1);
  }

  #addCost(path: string, cost: number): void {
    this.#costs.set(path, (this.#costs.get(path) ?? 0) + cost);
  }
}

function isList(type: GraphQLOutputType): boolean {
  return isListType(isNonNullType(type) ? type.ofType : type);
}
