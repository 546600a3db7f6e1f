/** What the two kinds of objects call of each other; both import this instead of one another. */
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { FleetReport } from "../domain/jobs/queue-reason.ts";

/** "This endpoint wants so many workers, and these may go." Level-triggered: the last wish counts. */
export type DesiredWorkersUpdate = {
  readonly config: EndpointConfig;
  readonly desired: number;
  /** Free workers that get no more jobs: no others are too many. Absent in wishes of before. */
  readonly leaving?: readonly string[];
  /** Stints of workers on standby that shall run again, each of them and no other in its place. */
  readonly resume?: readonly string[];
  /** The endpoint is deleted; drop all that is known of it. */
  readonly isRemoved: boolean;
};

export interface FleetPort extends Rpc.DurableObjectBranded {
  setDesiredWorkers(update: DesiredWorkersUpdate): Promise<void>;
  /** What there is to tell of an endpoint now, under a revision that is greater than the one it knows. */
  reportOf(endpointId: string, lastRevision: number): Promise<FleetReport>;
}

export interface EndpointPort extends Rpc.DurableObjectBranded {
  fleetReport(report: FleetReport): Promise<number>;
}

/** Hosts of all locations are in one fleet for now; the name is the seam for more. */
export const FLEET_NAME = "default";
