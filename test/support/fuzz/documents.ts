/** Random GraphQL requests for a schema: right ones, wrong ones, and everything between. */
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
} from "graphql";
import type { Chance } from "./chance.ts";
import { HOSTILE_JSON, numberFor, type World } from "./world.ts";

const DIRECTIVES = [
  "@include(if: true)",
  "@skip(if: false)",
  "@skip(if: true)",
  "@unknown",
  "@include(if: 5)",
  "@skip",
];
const HOSTILE_NUMBERS = [
  "-1",
  "-0",
  "1.5",
  "2147483647",
  "2147483648",
  "1e400",
  "99999999999999999999",
  "007",
  "NaN",
];
/** Without these most creations would fail at the first field. */
const USUALLY_SENT =
  /^(key|name|imageName|containerDiskInGb|volumeInGb|gpuIds|templateId|id|registryAuthId|value|username|password|size|dataCenterId|level|input)$/;

/** Writes one request body, as text, since not all of it need be JSON. */
export class DocumentWriter {
  readonly #schema: GraphQLSchema;
  readonly #chance: Chance;
  readonly #world: World;
  readonly #declarations: string[] = [];
  readonly #variables: string[] = [];
  readonly #fragments: string[] = [];
  readonly #wrongness: number;
  readonly #depthMax: number;
  /** The field whose arguments are being written. */
  #place = "";

  constructor(schema: GraphQLSchema, chance: Chance, world: World) {
    this.#schema = schema;
    this.#chance = chance;
    this.#world = world;
    this.#wrongness = chance.pick([0, 0, 0, 0.01, 0.03, 0.2]);
    this.#depthMax = chance.pick([2, 3, 4, 6, 14]);
  }

  body(): string {
    const chance = this.#chance;
    const kind = chance.is(0.6) ? "mutation" : "query";
    const root = kind === "mutation" ? this.#schema.getMutationType() : this.#schema.getQueryType();
    if (!root) throw new Error("the schema has no root");
    const selection = this.#selection(root, 1);
    const head = this.#declarations.length > 0 ? `${kind} Q(${this.#declarations.join(", ")})` : kind;
    const query = [`${head} ${selection}`, ...this.#fragments].join(chance.is(0.5) ? "\n" : " ");
    const members = [`"query":${JSON.stringify(query)}`];
    if (this.#variables.length > 0) members.push(`"variables":{${this.#variables.join(",")}}`);
    if (chance.is(0.03)) members.push(`"operationName":${chance.pick(['"Q"', '"None"', "null", "5", "[]"])}`);
    if (chance.is(0.03)) members.push(`"variables":${chance.pick(HOSTILE_JSON)}`);
    if (chance.is(0.03)) members.push(`"stray":${chance.pick(HOSTILE_JSON)}`);
    return `{${members.join(",")}}`;
  }

  get #isWrong(): boolean {
    return this.#chance.is(this.#wrongness);
  }

  #selection(type: GraphQLObjectType, depth: number): string {
    const chance = this.#chance;
    const all = Object.values(type.getFields());
    const fields = depth === 1 ? [chance.pick(all), ...(chance.is(0.15) ? [chance.pick(all)] : [])] : [];
    if (depth > 1) fields.push(...chance.some(all, chance.pick([0.1, 0.4, 1])));
    const parts = fields.map((field) => this.#field(field, depth)).filter((part) => part !== "");
    if (parts.length === 0 || chance.is(0.1)) parts.push("__typename");
    if (this.#isWrong)
      parts.push(chance.pick(["nonsense", "__proto__", '__type(name: "User") { name }', "", "{", "}"]));
    return `{ ${this.#inFragment(type, parts.join(chance.is(0.1) ? ", " : " "))} }`;
  }

  #inFragment(type: GraphQLObjectType, selections: string): string {
    const chance = this.#chance;
    if (chance.is(0.05)) return `... on ${this.#isWrong ? "Nothing" : type.name} { ${selections} }`;
    if (!chance.is(0.05)) return selections;
    const name = `F${this.#fragments.length}`;
    const inside = this.#isWrong ? `...${name} ${selections}` : selections;
    this.#fragments.push(`fragment ${name} on ${type.name} { ${inside} }`);
    return this.#isWrong ? `...None` : `...${name} ${chance.is(0.3) ? `...${name}` : ""}`;
  }

  #field(field: GraphQLField<unknown, unknown>, depth: number): string {
    const chance = this.#chance;
    const type = getNamedType(field.type);
    const isLeaf = isLeafType(type) !== this.#isWrong;
    if (!isLeaf && depth > this.#depthMax) return "";
    const alias = chance.is(0.1) ? `a${chance.below(this.#wrongness === 0 ? 1e6 : 5)}: ` : "";
    const directive = chance.is(0.03)
      ? ` ${chance.pick(this.#wrongness === 0 ? DIRECTIVES.slice(0, 3) : DIRECTIVES)}`
      : "";
    const place = this.#place;
    this.#place = field.name;
    const written = this.#arguments(field.args);
    this.#place = place;
    const below = isLeaf ? "" : ` ${isObjectType(type) ? this.#selection(type, depth + 1) : "{ id }"}`;
    return `${alias}${field.name}${written}${directive}${below}`;
  }

  #arguments(args: readonly GraphQLArgument[]): string {
    const written = args
      .filter((argument) => this.#isGiven(argument))
      .map((argument) => this.#member(argument));
    if (this.#isWrong) written.push("nonsense: 1");
    return written.length === 0 ? "" : `(${written.join(", ")})`;
  }

  #isGiven({ name }: GraphQLArgument | GraphQLInputField): boolean {
    // With an id it is a change, without one something new.
    if (name === "id" && this.#place.startsWith("save")) return this.#chance.is(0.4);
    return this.#chance.is(USUALLY_SENT.test(name) ? 0.93 : 0.12);
  }

  #member(argument: GraphQLArgument | GraphQLInputField): string {
    const { name, type } = argument;
    if (!this.#chance.is(0.15)) return `${name}: ${this.#literal(type, name)}`;
    const variable = `v${this.#variables.length}`;
    if (!this.#isWrong) this.#declarations.push(`$${variable}: ${this.#isWrong ? "String!" : String(type)}`);
    this.#variables.push(`"${variable}":${this.#json(type, name)}`);
    return `${name}: $${variable}`;
  }

  #literal(type: GraphQLInputType, name: string): string {
    const chance = this.#chance;
    if (isNonNullType(type)) return this.#literal(type.ofType, name);
    if (chance.is(0.05)) return "null";
    if (this.#isWrong)
      return chance.pick(["5", '"text"', "WORD", "[]", "{}", "1.5", "true", "$undeclared", "[[1], {}]"]);
    if (isListType(type)) {
      const { ofType } = type;
      return `[${Array.from({ length: chance.below(4) }, () => this.#literal(ofType, name)).join(", ")}]`;
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter((field) => this.#isGiven(field));
      return `{ ${fields.map((field) => this.#member(field)).join(", ")} }`;
    }
    if (isEnumType(type)) return chance.pick(type.getValues().map((value) => value.name));
    return this.#scalar(type.name, name);
  }

  #scalar(type: string, name: string): string {
    const chance = this.#chance;
    if (type === "Int" || type === "Float")
      return this.#isWrong ? chance.pick(HOSTILE_NUMBERS) : numberFor(chance, name);
    if (type === "Boolean") return chance.pick(["true", "false"]);
    const text = this.#world.text(chance, name, this.#wrongness, this.#place);
    if (this.#isWrong) return `"${text}"`; // as clients do that escape nothing
    return chance.is(0.05) ? `"""${text.replaceAll('"""', "")}"""` : JSON.stringify(text);
  }

  #json(type: GraphQLInputType, name: string): string {
    const chance = this.#chance;
    if (isNonNullType(type)) return this.#json(type.ofType, name);
    if (this.#isWrong) return chance.pick(HOSTILE_JSON);
    if (isListType(type)) return `[${this.#json(type.ofType, name)}]`;
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter((field) => this.#isGiven(field));
      return `{${fields.map((field) => `"${field.name}":${this.#json(field.type, field.name)}`).join(",")}}`;
    }
    if (isEnumType(type)) return JSON.stringify(chance.pick(type.getValues()).name);
    if (type.name === "JSON") return chance.pick(HOSTILE_JSON.slice(0, 18));
    if (type.name === "Int" || type.name === "Float") return numberFor(chance, name);
    return type.name === "Boolean"
      ? "true"
      : JSON.stringify(this.#world.text(chance, name, this.#wrongness, this.#place));
  }
}
