/** The body of a request on its way to a worker. */
import { DIRECT_BODY_MAX_BYTES, DIRECT_INLINE_BODY_BYTES } from "../../contract/limits.ts";
import type { ForwardCall } from "../../endpoint/load-balancing/messages.ts";
import { ServiceError } from "../../contract/errors.ts";
import { announcedLength } from "../../durable/request-body.ts";

/**
 * A small body is read at once; others wait to be asked for. What does not say how long it is can only be counted on
 * its way, which the endpoint's object does.
 */
export async function requestBody(request: Request): Promise<ForwardCall["body"]> {
  const length = announcedLength(request);
  if (length !== null && length > DIRECT_BODY_MAX_BYTES) {
    throw new ServiceError(
      "payload_too_large",
      `The body is larger than ${DIRECT_BODY_MAX_BYTES / 1_000_000} MB. Send less, or put the data into storage and send its address.`,
    );
  }
  if (request.body === null || length === 0) return null;
  const { body } = request;
  if (length === null || length > DIRECT_INLINE_BODY_BYTES) return { open: async () => body };
  return new Uint8Array(await request.arrayBuffer().catch(() => rejectCutBody()));
}

/** Nobody is there any more to read it, but it is no fault of ours. */
function rejectCutBody(): never {
  throw new ServiceError("invalid_input", "The body has ended before its announced length.");
}
