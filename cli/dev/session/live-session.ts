/** The endpoints that a `flash dev` has on the service, as long as it runs. */
import type { LiveEndpoint } from "../app/live-app.ts";

/** Where a live endpoint is. */
export type LivePlace = {
  readonly endpointId: string;
  /** Opens the execution of code on its workers. */
  readonly liveToken: string;
};

export type Provisioned = {
  readonly name: string;
  readonly outcome: "cached" | "deployed" | "updated" | "failed";
  readonly error?: string;
};

export interface LiveSession {
  /** Makes the endpoint, or makes it what its declaration says now. Throws a Failure that names it and the reason. */
  place(endpoint: LiveEndpoint): Promise<LivePlace>;
  /** All of them, three at a time; ends early when the command is interrupted. */
  placeAll(
    endpoints: readonly LiveEndpoint[],
    onEach: (one: Provisioned) => void,
  ): Promise<readonly Provisioned[]>;
  /** Those that are not there, or not as they are declared. */
  lacking(endpoints: readonly LiveEndpoint[]): readonly LiveEndpoint[];
  /** Forgets where an endpoint is, for it has turned out not to be there. */
  forget(name: string): void;
  /** Deletes those whose declaration has gone. */
  keepOnly(names: readonly string[]): Promise<void>;
  /** Deletes all of them; names what could not be deleted. */
  close(): Promise<{ readonly deleted: number; readonly left: readonly string[] }>;
  /** Names and ids of what would be left if the process ended now. */
  left(): readonly string[];
}
