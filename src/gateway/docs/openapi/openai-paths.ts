/** OpenAI's routes: `/v2/{endpointId}/openai/v1/…`. */
import * as z from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import { openaiReplySchema, openaiRequestSchema } from "../../../contract/openai.ts";
import { openaiOperation, type Description } from "./operation.ts";
import { endpointPath, idempotencyHeaders, rateLimitHeaders } from "./queue-paths.ts";

const answerHeaders = rateLimitHeaders.extend({
  "X-Request-Id": z
    .string()
    .optional()
    .meta({ description: "Id of the job, where the endpoint has a queue." }),
});

const DETAILS =
  "On an endpoint with a queue the request is a job, whose worker gets the route and the body; answered when it has ended, or, with " +
  "`stream`, in server-sent events as the worker yields them. A client that hangs up cancels it. On a " +
  "load-balanced endpoint the worker answers itself.";

type CallDescription = Pick<Description, "id" | "summary"> & { readonly example: unknown };

function callOperation({ id, summary, example }: CallDescription) {
  return openaiOperation(
    {
      id,
      tag: "OpenAI",
      summary,
      details: DETAILS,
      path: endpointPath,
      headers: idempotencyHeaders,
      body: openaiRequestSchema,
      example,
      answer: openaiReplySchema,
      answerHeaders,
    },
    [400, 401, 404, 409, 413, 429, 500, 502, 503, 504, 524],
  );
}

function listing(id: string, summary: string, path: z.ZodObject) {
  return openaiOperation(
    {
      id,
      tag: "OpenAI",
      summary,
      details: "Is a job as well.",
      path,
      answer: openaiReplySchema,
      answerHeaders,
    },
    [400, 401, 404, 409, 429, 500, 502, 503, 504, 524],
  );
}

export const openaiPaths: ZodOpenApiPathsObject = {
  "/v2/{endpointId}/openai/v1/chat/completions": {
    post: callOperation({
      id: "createChatCompletion",
      summary: "Create a chat completion",
      example: { model: "m", messages: [{ role: "user", content: "Hello" }] },
    }),
  },
  "/v2/{endpointId}/openai/v1/completions": {
    post: callOperation({
      id: "createCompletion",
      summary: "Create a completion",
      example: { model: "m", prompt: "Hello" },
    }),
  },
  "/v2/{endpointId}/openai/v1/embeddings": {
    post: callOperation({
      id: "createEmbedding",
      summary: "Create embeddings",
      example: { model: "m", input: "Hello" },
    }),
  },
  "/v2/{endpointId}/openai/v1/responses": {
    post: callOperation({
      id: "createResponse",
      summary: "Create a response",
      example: { model: "m", input: "Hello" },
    }),
  },
  "/v2/{endpointId}/openai/v1/models": {
    get: listing("listModels", "The models that the workers serve", endpointPath),
  },
  "/v2/{endpointId}/openai/v1/models/{model}": {
    get: listing(
      "getModel",
      "Get a model",
      endpointPath.extend({
        model: z.string().meta({ description: "Name of the model, escaped as part of a path." }),
      }),
    ),
  },
};
