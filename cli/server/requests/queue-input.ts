/** Validates a job's input against the declaration of its function. */
import type { JobJson } from "./served-app.ts";
import type {
  ManifestFunction,
  ManifestParameter,
  ManifestResource,
} from "../../../src/contract/flash/flash-manifest.ts";
import { membersOf } from "../../../src/json/json-members.ts";
import { RequestError, type FieldIssue } from "./responses.ts";

/** JSON by name. */
type Values = ReadonlyMap<string, string>;

const INPUT = ["body", "input"] as const;
/** The member that names the method of a class, and one that some clients send for an empty input. */
const METHOD = "method";
const METHOD_NAME_MAX_CHARACTERS = 100;
const EMPTY = "__empty";

/** The job with its input. Throws a RequestError that names each invalid field. */
export function checkedJob(resource: ManifestResource, job: JobJson): JobJson {
  const [declared] = resource.functions;
  // Endpoints with their own image declare no function.
  if (declared === undefined) return job;
  if (job.input === undefined && !takesNothing(declared)) {
    const example = `The arguments stand in "input", as in {"input": {…}}`;
    throw invalidInput(problem(INPUT, `Field required. ${example}`, "missing"));
  }
  const input = job.input ?? "{}";
  const members = input === "null" ? [] : membersOf(input);
  if (members === undefined)
    throw invalidInput(
      problem(INPUT, "Input should be an object with the function's arguments by name", "dict_type"),
    );
  const values = members.filter(({ name, value }) => !(name === EMPTY && value === "true"));
  const problems = problemsOf(declared, new Map(values.map(({ name, value }) => [name, value])));
  if (problems.length > 0) throw invalidInput(...problems);
  return { ...job, input };
}

function problemsOf(declared: ManifestFunction, values: Values): readonly FieldIssue[] {
  const methods = declared.is_class === true ? (declared.class_methods ?? []) : [];
  const [only = ""] = methods;
  if (methods.length > 1) return problemsOfMethod(declared, methods, values);
  const takesMethod = declared.parameters?.some(({ name }) => name === METHOD) ?? false;
  const isNamed = methods.length === 1 && valueOf(values, METHOD) === only && !takesMethod;
  return problemsOfArguments(declared.parameters, isNamed ? withoutMethod(values) : values);
}

function problemsOfMethod(
  declared: ManifestFunction,
  methods: readonly string[],
  values: Values,
): readonly FieldIssue[] {
  const available = methods.join(", ");
  const place = [...INPUT, METHOD];
  const method = valueOf(values, METHOD);
  if (method === undefined)
    return [
      problem(
        place,
        `Field required: the method of ${declared.name} to call. It has ${available}`,
        "missing",
      ),
    ];
  if (typeof method !== "string" || !methods.includes(method))
    return [
      problem(
        place,
        `There is no method ${JSON.stringify(method).slice(0, METHOD_NAME_MAX_CHARACTERS)}. ${declared.name} has ${available}`,
        "enum",
      ),
    ];
  return problemsOfArguments(declared.method_parameters?.[method], withoutMethod(values));
}

function problemsOfArguments(
  parameters: readonly ManifestParameter[] | undefined,
  values: Values,
): readonly FieldIssue[] {
  if (parameters === undefined) return [];
  const named = parameters.filter(({ kind }) => kind === "positional" || kind === "keyword");
  const missing = named.filter(({ name, isRequired }) => isRequired && !values.has(name));
  const takesAny = parameters.some(({ kind }) => kind === "var_keyword");
  const unknown = takesAny
    ? []
    : [...values.keys()].filter((name) => !named.some((parameter) => parameter.name === name));
  const usage =
    named.length === 0 ? "It takes no arguments" : `It takes ${named.map(({ name }) => name).join(", ")}`;
  return [
    ...missing.map(({ name }) => problem([...INPUT, name], "Field required", "missing")),
    ...unknown.map((name) =>
      problem([...INPUT, name], `The function has no such argument. ${usage}`, "extra_forbidden"),
    ),
  ];
}

function takesNothing({ class_methods: methods = [], parameters }: ManifestFunction): boolean {
  return methods.length <= 1 && parameters?.length === 0;
}

function valueOf(values: Values, name: string): unknown {
  const value = values.get(name);
  return value === undefined ? undefined : JSON.parse(value);
}

function withoutMethod(values: Values): Values {
  return new Map([...values].filter(([name]) => name !== METHOD));
}

function problem(loc: FieldIssue["loc"], msg: string, type: string): FieldIssue {
  return { loc, msg, type };
}

function invalidInput(...problems: readonly FieldIssue[]): RequestError {
  return new RequestError(422, problems);
}
