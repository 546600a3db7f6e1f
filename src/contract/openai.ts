/** What OpenAI's clients send to `/v2/<endpointId>/openai/…`, and read there. */
import * as z from "zod";
import type { Immutable } from "./immutable.ts";

/**
 * The error body that OpenAI's clients know. A worker's own error is passed on with its own values, so
 * `type` and `code` are not closed lists.
 */
export const openaiErrorSchema = z
  .object({
    error: z.object({
      message: z.string().meta({ description: "What happened and what to do." }),
      type: z.string().meta({ description: "The kind of error.", example: "invalid_request_error" }),
      param: z
        .string()
        .nullable()
        .meta({ description: "The member of the request that is wrong, if one is." }),
      code: z
        .union([z.string(), z.int()])
        .nullable()
        .meta({ description: "What it is in one word, or the status that the worker gave." }),
    }),
  })
  .meta({ id: "OpenaiError" });
export type OpenaiErrorBody = Immutable<z.infer<typeof openaiErrorSchema>>;

/** A request's body, as far as it concerns the edge; the worker gets all of it. */
export const openaiRequestSchema = z
  .looseObject({
    stream: z
      .boolean()
      .nullish()
      .meta({ description: "Whether to send the answer as server-sent events, as it comes." }),
  })
  .meta({
    id: "OpenaiRequest",
    description: "What the worker's engine takes; the edge reads `stream` alone.",
  });

/** What a worker's engine answers. */
export const openaiReplySchema = z
  .unknown()
  .meta({ id: "OpenaiReply", description: "What the worker's engine answers." });
