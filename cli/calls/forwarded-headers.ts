/** Headers that pass between a caller of the local server and the endpoint that answers. */

/** Of the connection with the local server. */
const REQUEST_HOP_HEADERS = ["connection", "content-length", "host", "transfer-encoding", "expect"];
/** Of one connection, or no longer true of a body that was unpacked on the way. */
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

export function responseHeaders(answer: Response): Headers {
  const headers = new Headers(answer.headers);
  for (const name of RESPONSE_HOP_HEADERS) headers.delete(name);
  return headers;
}
