/** What calls of jobs, of routes and of OpenAI's clients share. */
import { type CallLine, CallFailure } from "../../server/requests/served-app.ts";
import type { LiveEndpoint } from "../app/live-app.ts";
import type { Service } from "../../service/service.ts";
import type { LiveSession, LivePlace } from "../session/live-session.ts";
import type { LiveCall } from "./live-request.ts";
import type { WorkerLines } from "../../calls/worker-lines.ts";

/** What calls of jobs and of routes share. */
export type CallDependencies = {
  readonly service: Service;
  readonly session: LiveSession;
  readonly sources: SentSources;
  readonly lines: WorkerLines;
  /** The text of a live request: adds the texts of files, but for those that are known. */
  readonly pack: (call: LiveCall, sent: ReadonlySet<string>) => string;
};

/** A call on its way: what is called, and where its progress is shown. */
export type CallContext = {
  readonly endpoint: LiveEndpoint;
  /** All endpoints of the app. */
  readonly all: readonly LiveEndpoint[];
  readonly line: CallLine;
};

/** Which sources the workers of a live endpoint have been sent. */
export class SentSources {
  readonly #byEndpoint = new Map<string, Set<string>>();

  of(endpointId: string): ReadonlySet<string> {
    return this.#byEndpoint.get(endpointId) ?? new Set();
  }

  /** A worker has run code made of these. */
  add(endpointId: string, hashes: readonly string[]): void {
    const sent = this.#byEndpoint.get(endpointId) ?? new Set();
    for (const sha256 of hashes) sent.add(sha256);
    this.#byEndpoint.set(endpointId, sent);
  }

  /** A worker lacks what another one had. */
  forget(endpointId: string): void {
    this.#byEndpoint.delete(endpointId);
  }
}

/** The service has no such endpoint any more: it was deleted by another hand, or with its session. */
export class EndpointNotFound extends Error {
  override readonly name = "EndpointGone";
}

/** Has a call carried out where the endpoint is; one that has gone is made again, once. */
export async function withPlace<T>(
  session: LiveSession,
  endpoint: LiveEndpoint,
  act: (place: LivePlace) => Promise<T>,
): Promise<T> {
  try {
    return await act(await session.place(endpoint));
  } catch (error) {
    if (!(error instanceof EndpointNotFound)) throw error;
  }
  session.forget(endpoint.name);
  try {
    return await act(await session.place(endpoint));
  } catch (error) {
    if (!(error instanceof EndpointNotFound)) throw error;
    throw new CallFailure(
      503,
      `The live endpoint of ${endpoint.name} is deleted again and again by somebody else.`,
    );
  }
}

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
