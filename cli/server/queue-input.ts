/** Whether a job's input fits the function that it is for, as far as its declaration can tell. */
import type {
  ManifestFunction,
  ManifestParameter,
  ManifestResource,
} from "../../src/contract/flash-manifest.ts";
import { CallRefusal, type FieldProblem } from "./call-answer.ts";

type Members = Readonly<Record<string, unknown>>;

const INPUT = ["body", "input"] as const;
/** Names the method of a class, and what some clients send where an input would be empty. */
const METHOD = "method";
const EMPTY = "__empty";

/** The body to send, its input an object. Throws a CallRefusal that names each field at fault. */
export function checkedJob(resource: ManifestResource, body: unknown): Members {
  const job = body ?? {};
  if (!isMembers(job)) throw refusal(problem(["body"], "Input should be a JSON object", "dict_type"));
  const [declared] = resource.functions;
  // Of an image of one's own nothing is known.
  if (declared === undefined) return job;
  if (!("input" in job) && !takesNothing(declared)) {
    const example = `The arguments stand in "input", as in {"input": {…}}`;
    throw refusal(problem(INPUT, `Field required. ${example}`, "missing"));
  }
  const input = job["input"] ?? {};
  if (!isMembers(input))
    throw refusal(
      problem(INPUT, "Input should be an object with the function's arguments by name", "dict_type"),
    );
  const values = Object.fromEntries(
    Object.entries(input).filter(([name, value]) => !(name === EMPTY && value === true)),
  );
  const problems = problemsOf(declared, values);
  if (problems.length > 0) throw refusal(...problems);
  return { ...job, input: values };
}

function problemsOf(declared: ManifestFunction, values: Members): readonly FieldProblem[] {
  const methods = declared.is_class === true ? (declared.class_methods ?? []) : [];
  const [only = ""] = methods;
  if (methods.length > 1) return problemsOfMethod(declared, methods, values);
  const { [METHOD]: named, ...rest } = values;
  const takesMethod = declared.parameters?.some(({ name }) => name === METHOD) ?? false;
  const isNamed = methods.length === 1 && named === only && !takesMethod;
  return problemsOfArguments(declared.parameters, isNamed ? rest : values);
}

function problemsOfMethod(
  declared: ManifestFunction,
  methods: readonly string[],
  { [METHOD]: method, ...rest }: Members,
): readonly FieldProblem[] {
  const known = methods.join(", ");
  const place = [...INPUT, METHOD];
  if (method === undefined)
    return [
      problem(place, `Field required: the method of ${declared.name} to call. It has ${known}`, "missing"),
    ];
  if (typeof method !== "string" || !methods.includes(method))
    return [
      problem(place, `There is no method ${JSON.stringify(method)}. ${declared.name} has ${known}`, "enum"),
    ];
  return problemsOfArguments(declared.method_parameters?.[method], rest);
}

function problemsOfArguments(
  parameters: readonly ManifestParameter[] | undefined,
  values: Members,
): readonly FieldProblem[] {
  if (parameters === undefined) return [];
  const named = parameters.filter(({ kind }) => kind === "positional" || kind === "keyword");
  const missing = named.filter(({ name, isRequired }) => isRequired && !Object.hasOwn(values, name));
  const takesAny = parameters.some(({ kind }) => kind === "var_keyword");
  const unknown = takesAny
    ? []
    : Object.keys(values).filter((name) => !named.some((parameter) => parameter.name === name));
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

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function problem(loc: FieldProblem["loc"], msg: string, type: string): FieldProblem {
  return { loc, msg, type };
}

function refusal(...problems: readonly FieldProblem[]): CallRefusal {
  return new CallRefusal(422, problems);
}
