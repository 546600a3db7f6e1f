/** Webhooks as accounts and the API see them. */
import * as z from "zod";
import type { Immutable } from "./immutable.ts";

export const WEBHOOK_TIMEOUT_MS = 10_000;

/** A secret with which calls are signed: `whsec_` and base64, as Standard Webhooks has it. */
export type WebhookSecret = {
  readonly secret: string;
  readonly createdAt: number;
  /** Null for the one in force; an older one signs beside it until then. */
  readonly validUntil: number | null;
};

/** `none`: nothing was to be sent, since the job has no webhook, has not ended, or was purged. */
const webhookStateSchema = z.enum(["none", "pending", "delivered", "failed"]);

/** Body of `webhooks/<id>`. Times are epoch milliseconds. */
export const webhookLogSchema = z
  .object({
    id: z.string(),
    webhook: z.string().nullable(),
    state: webhookStateSchema,
    attempts: z.array(
      z.object({
        at: z.int(),
        durationMs: z.int().meta({ description: "Until the head of the answer came." }),
        statusCode: z.int().optional(),
        error: z.string().optional(),
      }),
    ),
    nextAttemptAt: z.int().optional(),
  })
  .meta({ id: "WebhookLog" });
export type WebhookLogBody = Immutable<z.infer<typeof webhookLogSchema>>;
