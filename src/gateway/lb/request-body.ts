/** The body of a request on its way to a worker. */
import { RpcTarget } from "cloudflare:workers";
import { DIRECT_BODY_MAX_BYTES, DIRECT_INLINE_BODY_BYTES } from "../../contract/limits.ts";
import type { BodySource, DirectCall } from "../../endpoint/direct/messages.ts";
import { ApiError } from "../api-error.ts";
import { announcedLength } from "../body.ts";

/** A body that stays with the client until a worker was found for it. */
class OnDemand extends RpcTarget implements BodySource {
  readonly #body: ReadableStream<Uint8Array>;

  constructor(body: ReadableStream<Uint8Array>) {
    super();
    this.#body = body;
  }

  async open(): Promise<ReadableStream<Uint8Array>> {
    return this.#body;
  }
}

/**
 * A small body is read at once; others wait to be asked for. What does not say how long it is can only be counted on
 * its way, which the endpoint's object does.
 */
export async function requestBody(request: Request): Promise<DirectCall["body"]> {
  const length = announcedLength(request);
  if (length !== null && length > DIRECT_BODY_MAX_BYTES) {
    throw new ApiError(
      "payload_too_large",
      `The body is larger than ${DIRECT_BODY_MAX_BYTES / 1_000_000} MB. Send less, or put the data into storage and send its address.`,
    );
  }
  if (request.body === null || length === 0) return null;
  if (length === null || length > DIRECT_INLINE_BODY_BYTES) return new OnDemand(request.body);
  return new Uint8Array(await request.arrayBuffer());
}
