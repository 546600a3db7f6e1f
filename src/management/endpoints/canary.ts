/** What a change asks for that puts its version on trial. */
import type { Canary } from "../../contract/endpoint.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { EndpointRecord, EndpointValues } from "../../db/endpoints.ts";
import { findVersionSettings } from "../../db/version-settings.ts";
import type { RequestContext } from "../context.ts";
import { computeFields } from "../nouns/compute.ts";
import { replacesWorkers } from "../nouns/field.ts";
import { networkVolumeFields } from "../nouns/mounts.ts";

/**
 * How a new version of an endpoint is tried; null for not at all. While another version is on trial, the one from before
 * both stays the one that serves the others.
 */
export async function plannedCanary(
  { db }: RequestContext,
  read: EndpointRecord,
  values: EndpointValues,
  percent: number | undefined,
): Promise<Canary | null> {
  if (!percent) return null;
  if (read.type === "LB") throw refused("only an endpoint with a queue can have one");
  if (replacesWorkers({ ...computeFields, ...networkVolumeFields }, read, values)) {
    throw refused(
      "workers of both versions need the same GPUs, CPUs, places and volumes; change these without it",
    );
  }
  const from = read.canary?.from ?? read.version;
  if (await findVersionSettings(db, read.accountId, read.id, from)) return { from, percent };
  throw refused(`the settings of version ${from} are not stored: they have more than 64 KB`);
}

function refused(reason: string): ServiceError {
  return new ServiceError("invalid_input", `canaryPercent: ${reason}`);
}
