/** Errors below `/openai`, in the shape that OpenAI's clients read. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import {
  errorBodyOf,
  errorOfCode,
  type OpenaiErrorDetails,
} from "../../../domain/openai/openai-error-details.ts";
import { receiveError } from "../../api-error.ts";

/** An error that says more than the errors of the other APIs do. */
export class OpenaiError extends Error {
  readonly details: OpenaiErrorDetails;

  constructor(details: OpenaiErrorDetails) {
    super(details.message);
    this.name = "OpenaiError";
    this.details = details;
  }
}

/** A body that is wrong in the member `param`. */
export function wrongParameter(param: string, message: string): OpenaiError {
  return new OpenaiError({ ...errorOfCode("invalid_input", message), param });
}

/** Turns whatever was thrown into the answer. */
export async function renderOpenaiError(error: Error, context: Context): Promise<Response> {
  if (error instanceof OpenaiError) return openaiErrorResponse(context, error.details);
  const { code, message } = await receiveError(error, context);
  return openaiErrorResponse(context, errorOfCode(code, message));
}

function openaiErrorResponse(context: Context, details: OpenaiErrorDetails): Response {
  return context.json(errorBodyOf(details), details.status as ContentfulStatusCode, retryHeaders(details));
}

/** The official clients try again after 408, 409, 429 and 5xx, unless this says what to do. */
export function retryHeaders({ isRetryable }: OpenaiErrorDetails): Record<string, string> {
  return isRetryable ? {} : { "X-Should-Retry": "false" };
}
