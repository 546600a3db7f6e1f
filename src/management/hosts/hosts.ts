/**
 * The hosts of an account: D1 lists them, Fleet knows what they have and do.
 *
 * A change is recorded in D1 first; repeating it repairs one that did not reach Fleet.
 */
import * as z from "zod";
import { forgetHost } from "../../auth/host-principal.ts";
import {
  findOwnHost,
  listHosts,
  listHostsOfKey,
  auditHostChange,
  revokeHost,
  type HostRecord,
} from "../../db/hosts.ts";
import { logFailure } from "../failure-log.ts";
import {
  HOST_KWH_PRICE_MAX,
  HOST_PRICE_MAX,
  HOST_WATTS_MAX,
  readHostPrice,
  type HostPrice,
} from "../../domain/costs/host-price.ts";
import type { HostView } from "../../fleet/messages.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { recordStock } from "../catalog/present-stock.ts";
import { fleetObject } from "../objects.ts";
import { ServiceError } from "../../contract/errors.ts";
import { clearable, optional, idSchema } from "../input-schemas.ts";

const amount = (max: number) =>
  optional(z.number("must be a number").min(0, "must not be negative").max(max, `must be at most ${max}`));

/** Exactly one of the forms in which an owner prices a host. */
const hostPriceSchema = z
  .strictObject({
    perHour: amount(HOST_PRICE_MAX),
    perGpuHour: amount(HOST_PRICE_MAX),
    watts: amount(HOST_WATTS_MAX),
    perKwh: amount(HOST_KWH_PRICE_MAX),
  })
  .transform((given, context): HostPrice => {
    const price = readHostPrice(given);
    if (price) return price;
    context.addIssue("must be perHour, or perGpuHour, or watts and perKwh");
    return z.NEVER;
  });

/** Changes of a host; undefined leaves what is stored. */
export const hostPatchSchema = z.object({
  id: idSchema,
  cordoned: optional(z.boolean()),
  drained: optional(z.boolean()),
  price: clearable(hostPriceSchema),
});
type HostPatch = z.output<typeof hostPatchSchema>;

/** A host, and what Fleet knows of it after its first sync. */
export type Host = { readonly record: HostRecord; readonly seen: HostView | undefined };

/** The hosts of the calling account, the oldest first. */
export async function listOwnHosts(context: RequestContext): Promise<readonly Host[]> {
  const { accountId } = context.principal;
  const records = await listHosts(context.db, accountId, context.now);
  if (records.length === 0) return [];
  const seen = new Map(
    (await fleetObject(context.env, accountId).hostsOf(accountId)).map((host) => [host.hostId, host]),
  );
  return records.map((record) => ({ record, seen: seen.get(record.id) }));
}

export async function requireHost(context: RequestContext, hostId: string): Promise<Host> {
  const found = (await listOwnHosts(context)).find(({ record }) => record.id === hostId);
  if (!found) throw notFound(hostId);
  return found;
}

/** Cordons or drains a host, or lifts that; sets or removes its price. */
export async function changeHost(context: RequestContext, patch: HostPatch): Promise<Host> {
  const { id, cordoned, drained, price } = patch;
  const record = await findOwnHost(context.db, context.principal.accountId, id);
  if (!record || record.revokedAt !== null) throw notFound(id);
  const requested = Object.entries({ cordoned, drained, price }).filter(([, value]) => value !== undefined);
  const fields = requested.map(([field]) => field);
  if (fields.length > 0) {
    if (!(await auditHostChange(context.db, authorOf(context), record, fields))) throw notFound(id);
    const { accountId, name } = record;
    await notifyFleet(context, id, (fleet) =>
      fleet.changeHost({ hostId: id, accountId, name, cordoned, drained, price }),
    );
  }
  const hosts = await listOwnHosts(context);
  return hosts.find((host) => host.record.id === id) ?? { record, seen: undefined };
}

/** Revokes a host's token: it can join again as a new host only, and its workers are placed elsewhere. */
export async function removeHost(context: RequestContext, hostId: string): Promise<void> {
  const record = await findOwnHost(context.db, context.principal.accountId, hostId);
  if (!record) throw notFound(hostId);
  await revoke(context, record);
}

/** Removes the hosts that joined through an API key. */
export async function removeHostsOfKey(context: RequestContext, apiKeyId: string): Promise<void> {
  const records = await listHostsOfKey(context.db, context.principal.accountId, apiKeyId);
  for (const record of records) await revoke(context, record);
}

async function revoke(context: RequestContext, record: HostRecord): Promise<void> {
  await revokeHost(context.db, authorOf(context), record);
  forgetHost(record.id);
  const { id, accountId, name } = record;
  const { stock } = await notifyFleet(context, id, (fleet) => fleet.removeHost({ id, accountId, name }));
  await recordStock(context.env, record.accountId, stock);
}

async function notifyFleet<Reply>(
  context: RequestContext,
  hostId: string,
  call: (fleet: ReturnType<typeof fleetObject>) => Promise<Reply>,
): Promise<Reply> {
  try {
    return await call(fleetObject(context.env, context.principal.accountId));
  } catch (cause) {
    logFailure("fleet_not_reached", { hostId }, cause);
    throw new ServiceError(
      "unavailable",
      `The change of host ${hostId} is recorded, but the fleet could not be reached. Please try again later: repeating the same operation is safe.`,
    );
  }
}

function notFound(hostId: string): ServiceError {
  return new ServiceError("host_not_found", `id: host '${hostId}' was not found`);
}
