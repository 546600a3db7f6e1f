/**
 * The fields of a noun that clients set, in one table per noun. From the table come the inputs and types of GraphQL,
 * the schemas of REST v1 and v2 and their mapping, patches, stored values, defaults, and whether a change replaces
 * workers.
 */
import type * as z from "zod";

/** A field under its name in GraphQL; `Column` are the columns of the noun. */
export type Field<Column extends string = string> = {
  /** Its type in GraphQL; that of inputs may be another one. */
  readonly type: string;
  readonly inputType?: string;
  /** Its description in the inputs of GraphQL and REST. */
  readonly input?: string;
  /** Its description where it is shown. */
  readonly output?: string;
  /** Reads it in a patch: undefined leaves what is stored, null clears it. */
  readonly patch: z.ZodType;
  /** Where it is stored, if not under its own name. */
  readonly column?: Column;
  /** What a new one has that omits it. */
  readonly default?: unknown;
  /** Workers are replaced when it changes, or what this function makes of it. */
  readonly workerTrait?: true | ((stored: never) => unknown);
  /** Its form in REST v1; absent where REST does not have it. */
  readonly rest?: RestField;
  /** Its form in REST v2, named by its place in bodies: `workers.min`. */
  readonly v2?: RestField & { readonly name: string };
};

export type RestField = {
  readonly name?: string;
  /** Reads it in a body; absent where it is read together with others. `creation`: in a body that creates. */
  readonly input?: z.ZodType;
  readonly creation?: z.ZodType;
  readonly toPatch?: (value: never) => unknown;
  /** Stands for null and for nothing in a body that creates. */
  readonly default?: unknown;
  /** In answers; absent where it is shown in another form. */
  readonly output?: z.ZodType;
  readonly toOutput?: (stored: never) => unknown;
};

export type Fields<Column extends string = string> = Readonly<Record<string, Field<Column>>>;

type PatchShape<Table extends Fields> = { readonly [Name in keyof Table]: Table[Name]["patch"] };

type ColumnOf<Table extends Fields, Name extends keyof Table> = Table[Name] extends {
  readonly column: infer Column extends string;
}
  ? Column
  : Name;
type ColumnValue<Of extends Field> = Exclude<z.output<Of["patch"]>, undefined>;

/** Stored values by column, as a patch sets them. */
export type ChangesOf<Table extends Fields> = {
  [Name in keyof Table as ColumnOf<Table, Name>]?: ColumnValue<Table[Name]>;
};

/** Stored values by column, of all fields that have a default. */
export type DefaultsOf<Table extends Fields> = {
  [
    Name in keyof Table as Table[Name] extends { readonly default: unknown } ? ColumnOf<Table, Name> : never
  ]: ColumnValue<Table[Name]>;
};

/** The members of the schema of a patch. */
export function patchShape<Table extends Fields>(table: Table): PatchShape<Table> {
  return collect(table, (name, { patch }) => [name, patch]) as PatchShape<Table>;
}

/** What a patch sets, by column; what it does not set is absent. */
export function changesOf<Table extends Fields>(table: Table, patch: object): ChangesOf<Table> {
  const values = new Map(Object.entries(patch));
  return collect(table, (name, { column = name }) => [column, values.get(name)]) as ChangesOf<Table>;
}

/** The defaults by column; what has none is absent. */
export function defaultsOf<Table extends Fields>(table: Table): DefaultsOf<Table> {
  return collect(table, (name, field) => [field.column ?? name, field.default]) as DefaultsOf<Table>;
}

/** Whether workers must be replaced for the difference between two stored records. */
export function replacesWorkers<Record extends object>(
  table: Fields,
  before: Record,
  after: Record,
): boolean {
  const traitsOf = (record: Record) => {
    const values = new Map<string, unknown>(Object.entries(record));
    return collect(table, (name, { column = name, workerTrait }) => [
      name,
      typeof workerTrait === "function"
        ? apply(workerTrait, values.get(column))
        : workerTrait && values.get(column),
    ]);
  };
  return JSON.stringify(traitsOf(before)) !== JSON.stringify(traitsOf(after));
}

// GraphQL

/** The fields as lines of an input. */
export function inputSdl(table: Fields): string {
  return sdl(table, ({ input, type, inputType = type }) => [input, inputType]);
}

/** The fields as lines of an object type. */
export function typeSdl(table: Fields): string {
  return sdl(table, ({ output, type }) => [output, type]);
}

function sdl(
  table: Fields,
  line: (field: Field) => readonly [description: string | undefined, type: string],
) {
  return Object.entries(table)
    .map(([name, field]) => {
      const [description, type] = line(field);
      return `${description === undefined ? "" : `${JSON.stringify(description)}\n`}${name}: ${type}`;
    })
    .join("\n");
}

/** Resolvers of the fields whose column has another name. */
export function fieldResolvers(table: Fields): Record<string, (record: object) => unknown> {
  return collect(table, (name, { column }) => [
    name,
    column === undefined
      ? undefined
      : (record: object): unknown => new Map<string, unknown>(Object.entries(record)).get(column),
  ]);
}

// REST v1

type BodyKind = "creation" | "update";

/** The members of a body. */
export function restInput(table: Fields, kind: BodyKind): Record<string, z.ZodType> {
  return collect(table, (name, { input: description, rest }) => {
    const schema = kind === "creation" ? (rest?.creation ?? rest?.input) : rest?.input;
    return [rest?.name ?? name, described(schema, description)];
  });
}

/** The members of an answer. */
export function restOutput(table: Fields): Record<string, z.ZodType> {
  return collect(table, (name, { output: description, rest }) => [
    rest?.name ?? name,
    described(rest?.output, description),
  ]);
}

/** What a body asks for, as the schema of the patch takes it. */
export function fromRest(table: Fields, body: object, kind: BodyKind): Readonly<Record<string, unknown>> {
  const values = new Map<string, unknown>(Object.entries(body));
  return collect(table, (name, { rest }) => {
    const sent = values.get(rest?.name ?? name);
    const value = kind === "creation" ? (sent ?? rest?.default ?? sent) : sent;
    return [name, rest?.toPatch === undefined ? value : apply(rest.toPatch, value)];
  });
}

/** The members of an answer with their values. */
export function toRest(table: Fields, record: object): Readonly<Record<string, unknown>> {
  const values = new Map<string, unknown>(Object.entries(record));
  return collect(table, (name, { column = name, rest }) => {
    const value = values.get(column);
    return [
      rest?.name ?? name,
      rest?.output && (rest.toOutput === undefined ? value : apply(rest.toOutput, value)),
    ];
  });
}

/** Names of fields in REST by their names in patches, where they differ. */
export function restNames(table: Fields): Readonly<Record<string, string>> {
  return collect(table, (name, { rest }) => [name, rest?.name]);
}

// REST v2

/** Schemas by their place in a body. */
export type NestedShape = Readonly<Record<string, z.ZodType>>;

/** The members of a body by their place. */
export function nestedInput(table: Fields, kind: BodyKind): NestedShape {
  return collect(table, (name, { input: description, v2 }) => {
    const schema = kind === "creation" ? (v2?.creation ?? v2?.input) : v2?.input;
    return [v2?.name ?? name, described(schema, description)];
  });
}

/** The members of an answer by their place. */
export function nestedOutput(table: Fields): NestedShape {
  return collect(table, (name, { output: description, v2 }) => [
    v2?.name ?? name,
    described(v2?.output, description),
  ]);
}

/** What a nested body asks for, as the schema of the patch takes it. */
export function fromNested(table: Fields, body: object, kind: BodyKind): Readonly<Record<string, unknown>> {
  return collect(table, (name, { v2 }) => {
    if (v2 === undefined) return [name, undefined];
    const sent = valueAt(body, v2.name);
    const value = kind === "creation" ? (sent ?? v2.default) : sent;
    return [name, v2.toPatch === undefined ? value : apply(v2.toPatch, value)];
  });
}

/** The values of an answer by their place. */
export function toNested(table: Fields, record: object): Readonly<Record<string, unknown>> {
  const values = new Map<string, unknown>(Object.entries(record));
  return collect(table, (name, { column = name, v2 }) => {
    const value = values.get(column);
    return [v2?.name ?? name, v2?.output && (v2.toOutput === undefined ? value : apply(v2.toOutput, value))];
  });
}

/** Places of fields in REST v2 by their names in patches. */
export function nestedNames(table: Fields): Readonly<Record<string, string>> {
  return collect(table, (name, { v2 }) => [name, v2?.name]);
}

/** What stands at a place of a body; undefined where there is nothing. */
export function valueAt(body: object, place: string): unknown {
  return place
    .split(".")
    .reduce<unknown>((value, name) => (isObject(value) ? Reflect.get(value, name) : undefined), body);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** With the description of the field, unless REST has a form with another one. */
function described(schema: z.ZodType | undefined, description: string | undefined): z.ZodType | undefined {
  return description === undefined || schema?.description !== undefined
    ? schema
    : schema?.meta({ description });
}

/** The table determines what its functions take: each gets values of its own field only. */
function apply(convert: (value: never) => unknown, value: unknown): unknown {
  return convert(value as never);
}

/** An object of what `entry` makes of each field; undefined values are left out. */
function collect<Value>(
  table: Fields,
  entry: (name: string, field: Field) => readonly [name: string, value: Value | undefined],
): Record<string, Value> {
  const entries = Object.entries(table).map(([name, field]) => entry(name, field));
  return Object.fromEntries(
    entries.filter((pair): pair is readonly [string, Value] => pair[1] !== undefined),
  );
}
