/** Requests and responses that pass between a caller of the local server and the endpoint that answers. */
import type { Service } from "../service/service.ts";

/** Headers that concern the connection with the local server. */
const REQUEST_HOP_HEADERS = ["connection", "content-length", "host", "transfer-encoding", "expect"];
/** Headers that concern one connection, or are no longer true of a body that was unpacked on the way. */
const RESPONSE_HOP_HEADERS = [
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-encoding",
  "content-length",
  "date",
];

export function forwardedHeaders({ headers }: Request): [string, string][] {
  return [...headers].filter(([name]) => !REQUEST_HOP_HEADERS.includes(name));
}

/** Sends a caller's request on to a path of the service; it can be sent again, since its body stays readable. */
export async function forwardRequest(service: Service, path: string, request: Request): Promise<Response> {
  const headers = new Headers(forwardedHeaders(request));
  headers.set("accept-encoding", "identity");
  const body = Buffer.from(await request.clone().arrayBuffer());
  return await service.request(`${path}${new URL(request.url).search}`, {
    method: request.method,
    headers,
    ...(body.length > 0 && { body }),
    redirect: "manual",
    signal: request.signal,
  });
}

/** The response of an endpoint as its caller receives it. */
export function passedOn({ body, status, statusText, headers: received }: Response): Response {
  const headers = new Headers(received);
  for (const name of RESPONSE_HOP_HEADERS) headers.delete(name);
  return new Response(body, { status, statusText, headers });
}
