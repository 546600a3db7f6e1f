/** From a request to an answer: bound, parse, validate, estimate, execute, and name every failure by a code. */
import { execute, GraphQLError, Kind, parse, validate, type DocumentNode } from "graphql";
import { ANONYMOUS } from "../auth/principal.ts";
import { missingKey, accessError } from "./authorization.ts";
import { publicMessage } from "./public-message.ts";
import { ServiceError, cutMessage, graphqlErrorCode, type ErrorCode } from "../contract/errors.ts";
import type { GraphqlContext } from "./context.ts";
import { exceededCost } from "./documents/cost.ts";
import { exceededLimit, exceededTextLimit } from "./documents/limits.ts";
import { DOCUMENT_RULES } from "./documents/id-variables.ts";
import { logFailure } from "../management/failure-log.ts";
import type { Warning } from "../management/context.ts";
import type { GraphqlRequest } from "./request.ts";
import { managementSchema } from "./schema.ts";

/** Errors in one answer; as many as a level can have aliases. */
export const GRAPHQL_ERRORS_MAX = 50;

type WireError = {
  readonly message: string;
  readonly path: readonly (string | number)[];
  readonly extensions: { readonly code: string };
};
export type GraphqlAnswer = {
  readonly status: 200 | 400 | 401 | 404 | 405 | 413 | 429 | 500;
  readonly body: {
    readonly data: unknown;
    readonly errors?: readonly WireError[];
    readonly extensions?: { readonly warnings: readonly Warning[] };
  };
};

/** Codes that clients expect with status 401, whatever else was answered. */
const UNAUTHORIZED_CODES: ReadonlySet<string> = new Set(["UNAUTHORIZED", "INSUFFICIENT_PERMISSION"]);

/** An answer with one error and no data. */
export function errorAnswer(
  status: GraphqlAnswer["status"],
  code: ErrorCode,
  message: string,
  path: WireError["path"] = [],
): GraphqlAnswer {
  return {
    status,
    body: { data: null, errors: [toWireError(code, message, path)] },
  };
}

export async function answerRequest(
  request: GraphqlRequest,
  context: GraphqlContext,
): Promise<GraphqlAnswer> {
  const tooLarge = exceededTextLimit(request.query);
  if (tooLarge !== undefined && context.principal === ANONYMOUS) return unauthorizedAnswer(missingKey());
  if (tooLarge !== undefined) return errorAnswer(400, "graphql_validation_failed", tooLarge);
  const document = parseDocument(request.query);
  if (document instanceof GraphQLError) {
    if (context.principal === ANONYMOUS) return unauthorizedAnswer(missingKey());
    return errorAnswer(400, "graphql_parse_failed", describeSyntaxError(document));
  }
  const path = operationPath(document);
  const denial = accessError(document, request.operationName, context);
  if (denial !== undefined) return unauthorizedAnswer(denial, path);
  const exceeded = exceededLimit(document);
  if (exceeded !== undefined) return errorAnswer(400, "graphql_validation_failed", exceeded, path);

  const issues = validate(managementSchema, document, DOCUMENT_RULES, { maxErrors: GRAPHQL_ERRORS_MAX - 1 });
  if (issues.length > 0) return rejectDocument(issues, path);
  const costProblem = exceededCost(managementSchema, document);
  if (costProblem !== undefined) return errorAnswer(400, "graphql_validation_failed", costProblem, path);

  return await executeDocument(request, document, context, path);
}

async function executeDocument(
  request: GraphqlRequest,
  document: DocumentNode,
  context: GraphqlContext,
  path: WireError["path"],
): Promise<GraphqlAnswer> {
  const result = await execute({
    schema: managementSchema,
    document,
    contextValue: context,
    variableValues: request.variables ?? {},
    operationName: request.operationName ?? null,
  });
  const data = result.data ?? null;
  const extensions = context.warnings.length > 0 && { extensions: { warnings: context.warnings } };
  if (result.errors === undefined) return { status: 200, body: { data, ...extensions } };
  const errors = result.errors.slice(0, GRAPHQL_ERRORS_MAX).map((error) => describeError(error, path));
  const isRefused = errors.some(({ extensions }) => UNAUTHORIZED_CODES.has(extensions.code));
  return { status: isRefused ? 401 : 200, body: { data, errors, ...extensions } };
}

/** The answer to a caller that lacks access. */
export function unauthorizedAnswer(
  { code, message }: ServiceError,
  path: WireError["path"] = [],
): GraphqlAnswer {
  return errorAnswer(401, code, message, path);
}

function parseDocument(query: string): DocumentNode | GraphQLError {
  try {
    return parse(query);
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}

function describeSyntaxError(error: GraphQLError): string {
  const [at] = error.locations ?? [];
  const publicText = publicMessage(error.message);
  return at === undefined ? publicText : `${publicText} (line ${at.line}, column ${at.column})`;
}

function rejectDocument(issues: readonly GraphQLError[], path: WireError["path"]): GraphqlAnswer {
  const errors = issues.map(({ message }) =>
    toWireError("graphql_validation_failed", publicMessage(message), path),
  );
  return { status: 400, body: { data: null, errors } };
}

function toWireError(code: ErrorCode, message: string, path: WireError["path"]): WireError {
  return { message: cutMessage(message), path, extensions: { code: graphqlErrorCode(code) } };
}

function describeError(error: GraphQLError, operationPath: WireError["path"]): WireError {
  const { originalError: cause, path = operationPath } = error;
  if (cause instanceof ServiceError) return toWireError(cause.code, error.message, path);
  // Without a path nothing was executed: the variables or the operation's name do not fit the document.
  if (error.path === undefined) return toWireError("invalid_input", publicMessage(error.message), path);
  logFailure("graphql_operation_failed", { path: path.join(".") }, loggable(cause ?? error));
  return toWireError("internal", "Internal server error. Please try again later.", path);
}

/** The engine quotes the request; a log must not. */
function loggable(cause: Error): Error {
  return cause instanceof GraphQLError ? new Error(publicMessage(cause.message)) : cause;
}

/** The first operation's first field: the path of an error that came before any field was executed. */
function operationPath(document: DocumentNode): WireError["path"] {
  const operation = document.definitions.find((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const field = operation?.selectionSet.selections.find((selection) => selection.kind === Kind.FIELD);
  return field === undefined ? [] : [field.alias?.value ?? field.name.value];
}
