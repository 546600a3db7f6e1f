/** Answers of REST against the shapes that the service whose API this is documents: what its clients decode. */
import { Validator, type Schema } from "@cfworker/json-schema";
import v1 from "../clients/rest-v1-answers.json" with { type: "json" };
import v2 from "../clients/rest-v2-answers.json" with { type: "json" };

type Hosted = {
  readonly answers: Readonly<Record<string, Readonly<Record<string, Schema | null>>>>;
  readonly components: object;
};

const REST_V1 = v1 as unknown as Hosted;
const REST_V2 = v2 as unknown as Hosted;

/** All documented operations of REST v2, such as `GET /v2/pods/{id}`. */
export const HOSTED_OPERATIONS = Object.keys(REST_V2.answers);

/** Throws unless a successful answer has a documented status and shape, or is of an operation of our own. */
export function checkHosted(method: string, path: string, status: number, body: unknown): void {
  const { answers, components } = path.startsWith("/v1/") ? REST_V1 : REST_V2;
  const operation = operationOf(Object.keys(answers), method, path);
  if (operation === undefined) return;
  const schema = answers[operation]?.[`${status}`];
  if (schema === undefined)
    throw new Error(`${operation} answered ${status}, which the service does not document`);
  if (schema === null) return;
  const validator = new Validator({ ...schema, components } as Schema, "2020-12", false);
  const { valid, errors } = validator.validate(body);
  if (valid) return;
  const issues = errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`).join("\n");
  throw new Error(`${operation} answered ${JSON.stringify(body)}, but\n${issues}`);
}

function operationOf(operations: readonly string[], method: string, address: string): string | undefined {
  const [path = ""] = address.split("?");
  const matches = operations.filter((operation) =>
    new RegExp(`^${operation.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(`${method} ${path}`),
  );
  return matches.toSorted((one, other) => one.split("{").length - other.split("{").length)[0];
}
