/** A request of a load-balanced endpoint, from the client to a worker and back. */
import type { Context } from "hono";
import type { EndpointConfig } from "../../contract/endpoint.ts";
import type { Env } from "../../env.ts";
import { ApiError } from "../api-error.ts";
import type { Place } from "./address.ts";

export type DirectContext = Context<{ Bindings: Env }>;

/**
 * Answers as a worker of the endpoint does. The caller has made sure that it is load-balanced, and that whoever
 * calls may have its workers work. What fails is answered here, too.
 */
export async function serveDirect(
  context: DirectContext,
  endpoint: EndpointConfig,
  place: Place,
): Promise<Response> {
  throw new ApiError("internal", `${context.req.path} ${endpoint.endpointId} ${place.target}`);
}
