/** Writes one line about a failure that is our fault. Never logs inputs: they may hold secrets. */
export function logFailure(
  event:
    | "assignment_unfit"
    | "graphql_operation_failed"
    | "endpoint_not_notified"
    | "fleet_not_reached"
    | "request_failed"
    | "stream_failed"
    | "usage_not_collected"
    | "metrics_not_read"
    | "batch_requests_failed"
    | "maintenance_failed"
    | "sealed_text_unopenable"
    | "encryption_keys_unreadable"
    | "environment_key_missing"
    | "hosts_not_notified"
    | "logs_not_removed"
    | "stock_not_read"
    | "stock_not_stored"
    | "session_not_ended",
  subject: Record<string, string>,
  cause: unknown,
): void {
  // oxlint-disable-next-line no-console -- the runtime collects logs from the console
  console.error(JSON.stringify({ event, ...subject, ...describe(cause) }));
}

/** A failed query names its parameters in its message, so the cause below it speaks instead. */
function describe(cause: unknown): Record<string, string> {
  if (!(cause instanceof Error)) return { error: "not an Error" };
  if (cause.cause instanceof Error) return describe(cause.cause);
  return { error: cause.name, message: cause.message };
}
