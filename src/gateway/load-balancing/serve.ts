/** A request of a load-balanced endpoint, from the client to a worker and back. */
import { clientAddress } from "../../auth/client-address.ts";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { ServiceError } from "../../contract/errors.ts";
import { LOAD_BALANCED_BODY_MAX_BYTES, LOAD_BALANCED_INLINE_BODY_BYTES } from "../../contract/limits.ts";
import {
  LOAD_BALANCED_HEADERS_MAX,
  LOAD_BALANCED_TARGET_MAX_CHARACTERS,
  type RequestHead,
  encodeJson,
} from "../../link/link-messages.ts";
import { announcedLength } from "../../durable/request-body.ts";
import type { ForwardCall } from "../../forwarding/messages.ts";
import type { Env } from "../../env.ts";
import { type ErrorFormat, loadBalancingFormat, renderLoadBalancingError } from "../errors.ts";
import { readAffinity } from "./affinity.ts";
import { type ClientConnection, openAnswer, LOAD_BALANCED_TIME_LIMIT_MS } from "./answer.ts";
import type { Place } from "./endpoint-url.ts";
import { isUpgrade, requestHead } from "./request-head.ts";
import { openUpgrade, requestUpgrade } from "./upgrade.ts";
import { WorkerSearch } from "./worker-search.ts";

/** The used members of a route's context. */
export type ServeContext = {
  readonly env: Env;
  readonly req: { readonly raw: Request };
  readonly executionCtx: { waitUntil(work: Promise<unknown>): void };
};

/**
 * Forwards the request to a worker. The caller has checked that the endpoint is load-balanced and that the key allows
 * it. Errors are rendered here as well.
 */
export async function serveRequest(
  context: ServeContext,
  endpoint: EndpointConfig,
  place: Place,
  errorShape: ErrorFormat = loadBalancingFormat,
): Promise<Response> {
  const request = context.req.raw;
  try {
    return await answer(context, endpoint, place);
  } catch (error) {
    return await renderLoadBalancingError(error, request, errorShape);
  }
}

async function answer(context: ServeContext, endpoint: EndpointConfig, place: Place): Promise<Response> {
  const request = context.req.raw;
  const affinity = readAffinity(request.headers);
  const { env, executionCtx } = context;
  const search = new WorkerSearch({
    env,
    endpoint,
    affinity,
    signal: request.signal,
    executionCtx,
    limitMs: LOAD_BALANCED_TIME_LIMIT_MS,
  });
  const seen = { requestId: search.requestId, client: clientAddress(env, request) };
  const head = encodeHead(requestHead(request, place, seen));
  const listener: ClientConnection = {
    method: request.method,
    prefix: place.prefix,
    waitUntil: (work) => executionCtx.waitUntil(work),
    giveUp: (reason) => search.abort(reason),
  };
  if (isUpgrade(request)) {
    const reply = await search.ask((stub) => requestUpgrade(stub, search, head));
    return reply.kind === "answer" ? await openAnswer(reply, listener) : openUpgrade(reply, place.prefix);
  }
  const body = await requestBody(request);
  const { requestId, receivedAt } = search;
  const bodyBytes = announcedLength(request);
  const reply = await search.ask((stub) =>
    stub.forward({ requestId, head, body, bodyBytes, affinity, receivedAt }),
  );
  return await openAnswer(reply, listener);
}

/** Limits of the link are checked here, so that exceeding them does not look like a failure of the worker. */
export function encodeHead(head: RequestHead): Uint8Array {
  if (head.target.length > LOAD_BALANCED_TARGET_MAX_CHARACTERS) {
    throw new ServiceError(
      "invalid_input",
      `Path and query may have ${LOAD_BALANCED_TARGET_MAX_CHARACTERS} characters. Send what is longer in the body.`,
    );
  }
  if (head.headers.length > LOAD_BALANCED_HEADERS_MAX) {
    throw new ServiceError(
      "invalid_input",
      `A request may have ${LOAD_BALANCED_HEADERS_MAX} headers. Send fewer.`,
    );
  }
  return encodeJson(head);
}

/**
 * A small body is read at once; others are opened when a worker was found. A body of unknown length is limited by the
 * endpoint's object as it passes.
 */
export async function requestBody(request: Request): Promise<ForwardCall["body"]> {
  const length = announcedLength(request);
  if (length !== null && length > LOAD_BALANCED_BODY_MAX_BYTES) {
    throw new ServiceError(
      "payload_too_large",
      `The body is larger than ${LOAD_BALANCED_BODY_MAX_BYTES / 1_000_000} MB. Send less, or put the data into storage and send its URL.`,
    );
  }
  if (request.body === null || length === 0) return null;
  const { body } = request;
  if (length === null || length > LOAD_BALANCED_INLINE_BODY_BYTES) return { open: async () => body };
  return new Uint8Array(await request.arrayBuffer().catch(() => rejectCutBody()));
}

/** The client has gone; the error keeps this out of the log of internal errors. */
function rejectCutBody(): never {
  throw new ServiceError("invalid_input", "The body has ended before its announced length.");
}
