/** The endpoints of a running `flash dev` on the service. */
import type { LiveEndpoint } from "../app/live-app.ts";

/** Where a live endpoint is. */
export type LivePlace = {
  readonly endpointId: string;
  /** Authorizes the execution of code on its workers. */
  readonly liveToken: string;
};

export type Provisioned = {
  readonly name: string;
  readonly outcome: "cached" | "deployed" | "updated" | "failed";
  readonly error?: string;
};

export interface LiveSession {
  /** Creates or updates the endpoint as it is declared now. Throws a Failure that names it and the reason. */
  place(endpoint: LiveEndpoint): Promise<LivePlace>;
  /** Places all endpoints, three at a time; ends early when the command is interrupted. */
  placeAll(
    endpoints: readonly LiveEndpoint[],
    onEach: (one: Provisioned) => void,
  ): Promise<readonly Provisioned[]>;
  /** Endpoints that do not exist, or not as they are declared. */
  lacking(endpoints: readonly LiveEndpoint[]): readonly LiveEndpoint[];
  /** Forgets the place of an endpoint that was found to be deleted. */
  forget(name: string): void;
  /** Deletes endpoints that are no longer declared. */
  keepOnly(names: readonly string[]): Promise<void>;
  /** Deletes all endpoints; `left` names those that could not be deleted. */
  close(): Promise<{ readonly deleted: number; readonly left: readonly string[] }>;
  /** Names and ids of endpoints that would be left if the process ended now. */
  left(): readonly string[];
}
