/** Answers of REST v2 against the shapes that the service whose API this is documents: what its clients decode. */
import { Validator, type Schema } from "@cfworker/json-schema";
import hosted from "../clients/rest-v2-answers.json" with { type: "json" };

const answers = hosted.answers as unknown as Readonly<
  Record<string, Readonly<Record<string, Schema | null>>>
>;

/** All documented operations, such as `GET /v2/pods/{id}`. */
export const HOSTED_OPERATIONS = Object.keys(answers);

/** Throws unless a successful answer has a documented status and shape. */
export function checkHosted(method: string, path: string, status: number, body: unknown): void {
  const operation = operationOf(method, path);
  if (operation === undefined) return;
  const documented = answers[operation] ?? {};
  const schema = documented[`${status}`];
  if (schema === undefined)
    throw new Error(`${operation} answered ${status}, which the service does not document`);
  if (schema === null) return;
  const { valid, errors } = new Validator(
    { ...schema, components: hosted.components } as Schema,
    "2020-12",
    false,
  ).validate(body);
  if (valid) return;
  const issues = errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`).join("\n");
  throw new Error(`${operation} answered ${JSON.stringify(body)}, but\n${issues}`);
}

function operationOf(method: string, address: string): string | undefined {
  const [path = ""] = address.split("?");
  const matches = HOSTED_OPERATIONS.filter((operation) =>
    new RegExp(`^${operation.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(`${method} ${path}`),
  );
  return matches.toSorted((one, other) => one.split("{").length - other.split("{").length)[0];
}
