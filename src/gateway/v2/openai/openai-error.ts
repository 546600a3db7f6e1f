/** Errors below `/openai`, in the shape that OpenAI's clients read. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { bodyOfFault, faultOfCode, type OpenaiFault } from "../../../domain/openai-fault.ts";
import { receiveError } from "../../api-error.ts";

/** An error that says more than the errors of the other APIs do. */
export class OpenaiError extends Error {
  readonly fault: OpenaiFault;

  constructor(fault: OpenaiFault) {
    super(fault.message);
    this.name = "OpenaiError";
    this.fault = fault;
  }
}

/** A body that is wrong in the member `param`. */
export function wrongParameter(param: string, message: string): OpenaiError {
  return new OpenaiError({ ...faultOfCode("invalid_input", message), param });
}

/** Turns whatever was thrown into the answer. */
export async function renderOpenaiError(error: Error, context: Context): Promise<Response> {
  if (error instanceof OpenaiError) return faultResponse(context, error.fault);
  const { code, message } = await receiveError(error, context);
  return faultResponse(context, faultOfCode(code, message));
}

function faultResponse(context: Context, fault: OpenaiFault): Response {
  return context.json(bodyOfFault(fault), fault.status as ContentfulStatusCode, adviceOf(fault));
}

/** The official clients try again after 408, 409, 429 and 5xx, unless this says what to do. */
export function adviceOf({ isWorthRetrying }: OpenaiFault): Record<string, string> {
  return isWorthRetrying ? {} : { "X-Should-Retry": "false" };
}
