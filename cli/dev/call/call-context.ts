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
  /** The JSON of a live request, with the sources that have not been sent yet. */
  readonly pack: (call: LiveCall, sent: ReadonlySet<string>) => string;
};

/** A call on its way: what is called, and where its progress is shown. */
export type CallContext = {
  readonly endpoint: LiveEndpoint;
  /** All endpoints of the app. */
  readonly all: readonly LiveEndpoint[];
  readonly line: CallLine;
};

/** Which sources have been sent to the workers of each live endpoint. */
export class SentSources {
  readonly #byEndpoint = new Map<string, Set<string>>();

  of(endpointId: string): ReadonlySet<string> {
    return this.#byEndpoint.get(endpointId) ?? new Set();
  }

  /** Records that a worker has run code with these hashes. */
  add(endpointId: string, hashes: readonly string[]): void {
    const sent = this.#byEndpoint.get(endpointId) ?? new Set();
    for (const sha256 of hashes) sent.add(sha256);
    this.#byEndpoint.set(endpointId, sent);
  }

  /** Forgets them, since a worker lacks what another one had. */
  forget(endpointId: string): void {
    this.#byEndpoint.delete(endpointId);
  }
}

/** The endpoint was deleted by another program or with its session. */
export class EndpointNotFound extends Error {
  override readonly name = "EndpointNotFound";
}

/** Runs a call at the place of its endpoint; creates an endpoint that was deleted again, once. */
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
    throw new CallFailure(503, `The live endpoint of ${endpoint.name} was deleted twice by another program.`);
  }
}
