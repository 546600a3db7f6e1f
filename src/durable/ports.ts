/** What the two kinds of objects call of each other, and their names; both import this instead of one another. */
import { type LocationHint, locationHintOf } from "../catalog/location-hints.ts";
import type { EndpointConfig } from "../contract/endpoint.ts";
import type { FleetReport } from "../domain/jobs/queue-reason.ts";

/** How many workers an endpoint should have, and which may be removed. Level-triggered: the last update counts. */
export type DesiredWorkersUpdate = {
  readonly config: EndpointConfig;
  readonly desired: number;
  /** Free workers that get no more jobs and are the only ones to remove. Absent in updates of older versions. */
  readonly leaving?: readonly string[];
  /** Epochs of standby workers that shall run again, exactly these. */
  readonly resume?: readonly string[];
  /** The endpoint is deleted: forget it. */
  readonly isRemoved: boolean;
};

/** What an endpoint states to Fleet while capacity is short. Level-triggered: the last statement counts. */
export type CapacityStatement = {
  readonly endpointId: string;
  /** Of the contention. */
  readonly number: number;
  /** A job waits for which workers are added. */
  readonly isWaiting: boolean;
  /** Epochs of workers that have no job and are not needed, and since when, epoch ms. */
  readonly spare: readonly (readonly [epoch: string, freeSinceAt: number])[];
};

export interface FleetPort extends Rpc.DurableObjectBranded {
  setDesiredWorkers(update: DesiredWorkersUpdate): Promise<void>;
  stateCapacity(statement: CapacityStatement): Promise<void>;
  /** The present report for an endpoint, with a revision above `lastRevision`. */
  reportOf(endpointId: string, lastRevision: number): Promise<FleetReport>;
  /** What an object that had the rows of all accounts has of another one. */
  rowsOfAccount(accountId: string): Promise<MovedRow[]>;
  /** The object of the account has these rows. */
  forgetRowsOfAccount(accountId: string): Promise<void>;
}

/** A row of one of the tables of Fleet, as JSON. */
export type MovedRow = { readonly table: string; readonly row: string };

export interface EndpointPort extends Rpc.DurableObjectBranded {
  /** Returns the revision in effect, or that the endpoint was deleted. */
  fleetReport(report: FleetReport): Promise<number | "removed">;
}

/** Where an object is created that nobody has called before. */
export function near(locations: readonly string[]): { readonly locationHint: LocationHint } | undefined {
  const locationHint = locationHintOf(locations);
  return locationHint && { locationHint };
}

/** Name of the object of the hosts of an account. */
export function fleetObjectName(accountId: string): string {
  return accountId;
}

/** Name of the object of a shard of an endpoint. The suffix is part of the names of all stored objects. */
export function endpointObjectName(endpointId: string, shard = 0): string {
  return `${endpointId}#${shard}`;
}

/** Name of the object of a pod. */
export function podObjectName(podId: string): string {
  return `${podId}#0`;
}

/** Name of the object of a host. */
export function hostObjectName(hostId: string): string {
  return `${hostId}#0`;
}

/*
 * A request for a WebSocket to a worker reaches an object by `fetch`, which carries no bytes but its headers:
 * `/direct?request=<requestId>&affinity=…&port=…&received=<epoch ms>` with its head packed in UPGRADE_HEAD. Status 101 brings
 * the WebSocket of the worker, and its answer in UPGRADE_HEAD. Status 200 with UPGRADE_HEAD: the worker did not upgrade;
 * header and body are its answer. Without that header the body is a NoWorker, ForwardFailure or Unconfigured as JSON.
 */

/** The head of the request on the way in, of the answer on the way out. */
export const UPGRADE_HEAD = "Edgerun-Head";
/** The worker that answered. */
export const UPGRADE_WORKER = "Edgerun-Worker";

/** A head as the value of a header. */
export function packHead(head: Uint8Array): string {
  return btoa(Array.from(head, (byte) => String.fromCharCode(byte)).join(""));
}

export function unpackHead(value: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
}
