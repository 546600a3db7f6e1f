import { CallFailure } from "../../server/requests/served-app.ts";
import type { LiveEndpoint } from "../app/live-app.ts";
import type { LivePlace, LiveSession } from "../session/live-session.ts";

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
