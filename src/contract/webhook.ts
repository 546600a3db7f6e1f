/** Webhooks as accounts and the API see them. */

/** A secret with which calls are signed: `whsec_` and base64, as Standard Webhooks has it. */
export type WebhookSecret = {
  readonly secret: string;
  readonly createdAt: number;
  /** Null for the one in force; an older one signs beside it until then. */
  readonly validUntil: number | null;
};

/** `none`: nothing was to be sent, since the job has no webhook, has not ended, or was purged. */
export type WebhookState = "none" | "pending" | "delivered" | "failed";

/** Body of `webhooks/<id>`. Times are epoch milliseconds; `durationMs` is until the answer's head came. */
export type WebhookLogBody = {
  readonly id: string;
  readonly webhook: string | null;
  readonly state: WebhookState;
  readonly attempts: readonly {
    readonly at: number;
    readonly durationMs: number;
    readonly statusCode?: number;
    readonly error?: string;
  }[];
  readonly nextAttemptAt?: number;
};
