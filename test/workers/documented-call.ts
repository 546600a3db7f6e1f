/** Calls of the edge whose answers are held against its OpenAPI document. */
import { Validator, type Schema } from "@cfworker/json-schema";
import { makeDocument } from "../../src/gateway/docs/openapi/document.ts";
import { EdgeClient } from "./edge-client.ts";

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- answers are asserted, not typed

type Operation = {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>
  >;
};

export const DOCUMENT = JSON.parse(JSON.stringify(makeDocument({ isClosed: true }))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Schema;
};

/** Ids of the operations whose answers were checked. */
export const checkedOperations = new Set<string>();

type DocumentedAnswer = { readonly status: number; readonly body: Json };

/** Calls and throws when the status is not documented, or the body is not as the document says. */
export async function documentedCall(...call: Parameters<EdgeClient["call"]>): Promise<DocumentedAnswer> {
  return await documentedCallOf(new EdgeClient(), ...call);
}

/** The same, as this client. */
export async function documentedCallOf(
  client: EdgeClient,
  ...[method, path, body, headers]: Parameters<EdgeClient["call"]>
): Promise<DocumentedAnswer> {
  const operation = operationOf(method, path);
  const answer = await client.call(method, path, body, headers);
  const documented = operation.responses[`${answer.status}`];
  if (!documented) throw new Error(`${method} ${path} answered ${answer.status}, which is not documented`);
  const mediaType = answer.headers.get("Content-Type")?.split(";")[0] ?? "";
  const schema = documented.content?.[mediaType]?.schema;
  if (schema) check(`${method} ${path}`, schema, answer.body);
  else if (answer.body !== null) throw new Error(`${method} ${path} has an undocumented body`);
  checkedOperations.add(operation.operationId);
  return answer;
}

function operationOf(method: string, address: string): Operation {
  const [path = ""] = address.split("?");
  const matches = Object.entries(DOCUMENT.paths).filter(([pattern]) =>
    new RegExp(`^${pattern.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  // `/v1/openapi.json` has no parameter, and wins over patterns that have.
  const [, operations] = matches.toSorted(([a], [b]) => a.split("{").length - b.split("{").length)[0] ?? [];
  const operation = operations?.[method.toLowerCase()];
  if (!operation) throw new Error(`${method} ${path} is not documented`);
  return operation;
}

function check(what: string, schema: Schema, body: unknown): void {
  const validator = new Validator({ ...schema, components: DOCUMENT.components }, "2020-12", false);
  const { valid, errors } = validator.validate(body);
  if (valid) return;
  const issues = errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`).join("\n");
  throw new Error(`${what} answered ${JSON.stringify(body)}, but\n${issues}`);
}
