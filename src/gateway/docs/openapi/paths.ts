/** The paths of the OpenAPI document, made of the tables of routes. */
import * as z from "zod";
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponsesObject,
} from "zod-openapi";
import type { ErrorStatus } from "../../../contract/errors.ts";
import { splitRequest, type Api, type OnRequest, type Operation } from "../../route.ts";

const ERRORS: Readonly<Record<ErrorStatus, string>> = {
  400: "The request is invalid; the message names the fields.",
  401: "The key is missing or wrong, or does not allow this.",
  403: "The key does not allow this, or the request came over plain HTTP.",
  404: "The account has no such object.",
  405: "The path has no such method.",
  409: "The state of the job or container does not allow this.",
  410: "What was asked for is over.",
  413: "The body is too large.",
  422: "Fields of the request are invalid; `errors` names them.",
  429: "A limit is reached. Try again after Retry-After seconds.",
  500: "An internal error.",
  501: "This version of Edgerun does not offer it.",
  502: "The worker broke off, refused the connection, or sent an invalid answer.",
  503: "Not possible now; try again later.",
  504: "The job exceeded its time limit.",
  524: "The worker did not answer in time.",
};

const RETRY_AFTER = z.object({ "Retry-After": z.string().meta({ description: "Seconds.", example: "3" }) });

/** The operations of an API by path and method. */
export function pathsOf(api: Api): ZodOpenApiPathsObject {
  const byPath = Map.groupBy(api.operations, ({ on }) => pathOf(api, on));
  const items = [...byPath].map(([path, operations]) => [
    path,
    Object.fromEntries(
      operations.map((one) => [splitRequest(one.on).method.toLowerCase(), describe(api, one)]),
    ),
  ]);
  return Object.fromEntries(items) as ZodOpenApiPathsObject;
}

function pathOf({ prefix }: Api, on: OnRequest): string {
  return prefix + splitRequest(on).path;
}

function describe(api: Api, operation: Operation): ZodOpenApiOperationObject {
  const { id, summary, details, credential = api.credential, requestBody } = operation;
  const requestParams = parametersOf(api, operation);
  const body = requestBody ?? bodyOf(operation);
  return {
    operationId: id,
    tags: [api.tag],
    summary,
    ...(details !== undefined && { description: details }),
    ...(Object.keys(requestParams).length > 0 && { requestParams }),
    ...(body && { requestBody: body }),
    responses: { ...success(operation), ...errorResponses(api, operation), ...operation.responses },
    ...(credential !== undefined && { security: credential === "none" ? [] : [{ [credential]: [] }] }),
  };
}

function parametersOf(api: Api, { on, params, query, headers }: Operation) {
  const names = [...pathOf(api, on).matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const shape = names.map((name) => [name, params?.[name] ?? api.params?.[name] ?? z.string()] as const);
  return {
    ...(names.length > 0 && { path: z.object(Object.fromEntries(shape)) }),
    ...(query && { query }),
    ...(headers && { header: headers }),
  };
}

function bodyOf({ body, example }: Operation): ZodOpenApiOperationObject["requestBody"] {
  if (body === undefined) return undefined;
  const media = { schema: body, ...(example !== undefined && { example }) };
  return { required: true, content: { "application/json": media } };
}

function success({ answer, hasEvents, status = 200, answerHeaders }: Operation): ZodOpenApiResponsesObject {
  const content = {
    ...(answer && { "application/json": { schema: answer } }),
    ...(hasEvents && { "text/event-stream": { schema: z.string() } }),
  };
  const hasBody = Object.keys(content).length > 0;
  return {
    [`${status}`]: {
      description: hasBody ? "Success." : "Success, without a body.",
      ...(hasBody && { content }),
      ...(answerHeaders && { headers: answerHeaders }),
    },
  };
}

function errorResponses(api: Api, operation: Operation): ZodOpenApiResponsesObject {
  const statuses = new Set([...api.errors, ...(operation.errors ?? [])]);
  // A caller with a credential has a limit of requests, and must not send it over plain HTTP.
  if (statuses.has(401)) statuses.add(403).add(429);
  const entries = [...statuses]
    .toSorted((one, other) => one - other)
    .map((status) => [
      `${status}`,
      {
        description: ERRORS[status],
        content: { [api.errorType ?? "application/json"]: { schema: api.errorBody } },
        ...(status === 429 && { headers: RETRY_AFTER }),
      },
    ]);
  return Object.fromEntries(entries) as ZodOpenApiResponsesObject;
}
