import * as z from "zod";

/** As handlers of Python workers report what was raised. Its traceback is among what the container prints. */
const raisedSchema = z.object({ error_type: z.string(), error_message: z.string() });

/** What the error of a failed job says, in one line. */
export function reasonOf(error: string): string {
  const raised = raisedSchema.safeParse(jsonOf(error));
  return raised.success ? `${raised.data.error_type}: ${raised.data.error_message}` : error;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
