/** How operations are described. */
import * as z from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiResponsesObject } from "zod-openapi";
import { directErrorBodySchema, errorBodySchema } from "../../../contract/errors.ts";
import { openaiErrorSchema } from "../../../contract/openai.ts";
import { restErrorSchema } from "../../../contract/rest/rest.ts";

export type Description = {
  /** Unique in the document; generated clients name their methods by it. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly details?: string;
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly example?: unknown;
  /** Schema of the successful answer; undefined for one without a body. */
  readonly answer: z.ZodType | undefined;
  readonly status?: 200 | 201 | 204;
  readonly answerHeaders?: z.ZodObject;
};

const ERRORS = {
  400: "The request is invalid; the message names the fields.",
  401: "The key is missing or wrong, or does not allow this.",
  404: "The account has no such object.",
  409: "The state of the job does not allow this.",
  413: "The body is too large.",
  429: "A limit is reached. Try again after Retry-After seconds.",
  500: "An internal error.",
  502: "The worker broke off, refused the connection, or sent an invalid answer.",
  503: "Not possible now; try again later.",
  504: "The job exceeded its time limit.",
  524: "The worker did not answer in time.",
} as const;
type ErrorStatus = keyof typeof ERRORS;

const RETRY_AFTER = z.object({ "Retry-After": z.string().meta({ description: "Seconds.", example: "3" }) });

/** Describes an operation whose errors have the form of the queue API and the agent API. */
export function operation(description: Description, errors: readonly ErrorStatus[]) {
  return describe(description, errorResponses(errors, errorBodySchema));
}

/** Describes an operation of REST v1. */
export function restOperation(description: Description, errors: readonly ErrorStatus[]) {
  return describe(description, errorResponses(errors, restErrorSchema));
}

/** Describes an operation of OpenAI's routes. */
export function openaiOperation(description: Description, errors: readonly ErrorStatus[]) {
  return describe(description, errorResponses(errors, openaiErrorSchema));
}

/** Describes an operation that a worker answers; errors of the edge have the form of load balancing. */
export function workerOperation(
  description: Omit<Description, "answer" | "status" | "answerHeaders">,
  answer: ZodOpenApiResponsesObject[`2${string}`],
  errors: readonly ErrorStatus[],
) {
  const described = describe(
    { ...description, answer: undefined },
    errorResponses(errors, directErrorBodySchema),
  );
  return { ...described, responses: { ...described.responses, 200: answer } };
}

function describe(description: Description, errors: ZodOpenApiResponsesObject): ZodOpenApiOperationObject {
  const { id, tag, summary, details, path, query, headers, body, example } = description;
  const requestParams = {
    ...(path && { path }),
    ...(query && { query }),
    ...(headers && { header: headers }),
  };
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(details !== undefined && { description: details }),
    ...(Object.keys(requestParams).length > 0 && { requestParams }),
    ...(body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: body, ...(example !== undefined && { example }) } },
      },
    }),
    responses: { ...success(description), ...errors },
  };
}

function success({ answer, status = 200, answerHeaders }: Description): ZodOpenApiResponsesObject {
  return {
    [`${status}`]: {
      description: answer ? "Success." : "Success, without a body.",
      ...(answer && { content: { "application/json": { schema: answer } } }),
      ...(answerHeaders && { headers: answerHeaders }),
    },
  };
}

function errorResponses(statuses: readonly ErrorStatus[], schema: z.ZodType): ZodOpenApiResponsesObject {
  // A caller with a credential has a limit of requests; see rate-limits.ts.
  const limited = statuses.includes(401) ? [...new Set([...statuses, 429 as const])] : statuses;
  const entries = limited
    .toSorted((one, other) => one - other)
    .map((status) => [
      `${status}`,
      {
        description: ERRORS[status],
        content: { "application/json": { schema } },
        ...(status === 429 && { headers: RETRY_AFTER }),
      },
    ]);
  return Object.fromEntries(entries) as ZodOpenApiResponsesObject;
}
