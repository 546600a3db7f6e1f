/** What a failed job says of its error, for the terminal. */
import { z } from "zod";
import { APP_DIRECTORY } from "../../../src/contract/artifact.ts";

/** As handlers of Python workers report what was raised. */
const raisedSchema = z.object({
  error_type: z.string(),
  error_message: z.string(),
  error_traceback: z.string().optional(),
});

/** The reason in one line; the traceback, with files as they are called in the project. */
export function describedError(error: string): { readonly reason: string; readonly detail?: string } {
  const raised = raisedSchema.safeParse(jsonOf(error));
  if (!raised.success) return { reason: error };
  const { error_type: type, error_message: message, error_traceback: traceback } = raised.data;
  const reason = `${type}: ${message}`;
  return traceback === undefined ? { reason } : { reason, detail: inProject(traceback).trimEnd() };
}

function inProject(traceback: string): string {
  return traceback.replaceAll(`File "${APP_DIRECTORY}/`, 'File "');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
