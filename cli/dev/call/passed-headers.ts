/** Headers that pass between a caller of the local server and whoever answers it. */

/** Of the connection with the local server. */
const OF_REQUEST = ["connection", "content-length", "host", "transfer-encoding", "expect"];
/** Of one connection, or no longer true of a body that was unpacked on the way. */
const OF_ANSWER = [
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-encoding",
  "content-length",
  "date",
];

export function passedHeaders({ headers }: Request): [string, string][] {
  return [...headers].filter(([name]) => !OF_REQUEST.includes(name));
}

export function withoutConnection(answer: Response): Headers {
  const headers = new Headers(answer.headers);
  for (const name of OF_ANSWER) headers.delete(name);
  return headers;
}
