/**
 * Pods of the calling account.
 *
 * A pod exists when D1 and the Fleet object both know it: D1 is written first at creation, the Fleet object first at
 * termination. What is left of one half is shown to nobody and removed by maintenance.
 */
import {
  deletePod,
  findPod,
  insertPodIfAllowed,
  listPods,
  recordPodAction,
  restorePod,
  toPodConfig,
  updatePodIfUnchanged,
  type PodRecord,
  type PodValues,
} from "../../db/pods.ts";
import { randomRowId } from "../../db/row-id.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { PodChange, PodOutcome, PodView } from "../../fleet/messages.ts";
import { authorOf, retryOnConflict, takingBack, type RequestContext } from "../context.ts";
import { logFailure } from "../failure-log.ts";
import { removeLogsOf, logRetentionDays } from "../logs/log-retention.ts";
import { replacesWorkers } from "../nouns/field.ts";
import { podCreationFields, type PodCreation, type PodEdit } from "../nouns/pod.ts";
import { fleetObject } from "../objects.ts";
import { requireQuota } from "../quota.ts";
import { warnOfMissingSecrets } from "../secrets/secrets.ts";
import { valuesOfCreation } from "./pod-creation.ts";
import { refuseUnlike, valuesOfEdit } from "./pod-edit.ts";
import { requireRegistryAuth } from "../secrets/registry-auths.ts";
import { noCapacity, podNotFound, volumeElsewhere } from "./pod-errors.ts";

export type { PodRecord };

/** A pod as both halves know it. */
export type Pod = { readonly record: PodRecord; readonly view: PodView };

// Reading

/** The pods of the calling account, the oldest first. */
export async function listOwnPods(context: RequestContext): Promise<readonly Pod[]> {
  const { accountId } = context.principal;
  const [records, views] = await Promise.all([
    listPods(context.db, accountId),
    callFleet(context, (fleet) => fleet.podsOf(accountId)),
  ]);
  const viewOf = new Map(views.map((view) => [view.podId, view]));
  return records.flatMap((record) => {
    const view = viewOf.get(record.id);
    return view ? [{ record, view }] : [];
  });
}

/** A pod of the calling account; undefined when there is none of this id. */
export async function findOwnPod(context: RequestContext, podId: string): Promise<Pod | undefined> {
  const { accountId } = context.principal;
  const record = await findRecord(context, podId);
  if (record === undefined) return undefined;
  const [view] = await callFleet(context, (fleet) => fleet.podsOf(accountId, [podId]));
  return view && { record, view };
}

/** Also for a caller with the key of a pod, for which there is no other one. */
async function findRecord({ db, principal }: RequestContext, podId: string): Promise<PodRecord | undefined> {
  if (principal.podId !== undefined && principal.podId !== podId) return undefined;
  return await findPod(db, principal.accountId, podId);
}

/** The same; throws pod_not_found. */
export async function requirePod(context: RequestContext, podId: string): Promise<Pod> {
  const pod = await findOwnPod(context, podId);
  if (pod === undefined) throw podNotFound(podId);
  return pod;
}

// Creating

/** Makes a pod and starts it; throws no_capacity when no host has what it needs, and leaves nothing behind then. */
export async function createPod(context: RequestContext, creation: PodCreation): Promise<Pod> {
  return await makePod(context, await valuesOfCreation(context, creation));
}

/** The same of values that are complete. `clusterSize`: how many pods its cluster will have. */
export async function makePod(context: RequestContext, values: PodValues, clusterSize = 1): Promise<Pod> {
  const podId = randomRowId();
  const record = await retryOnConflict(async () => {
    await requireNeeds(context, values);
    await requireQuota(context, "pod");
    return await insertPodIfAllowed(context.db, authorOf(context), podId, values);
  });
  const view = await deploy(context, record, clusterSize);
  await warnOfMissingSecrets(context, values);
  return { record, view };
}

/** Has the Fleet object place a new pod. Where it refuses or cannot be reached, the row is taken back. */
async function deploy(context: RequestContext, record: PodRecord, clusterSize: number): Promise<PodView> {
  const config = toPodConfig(record);
  try {
    return viewOf(record, await callFleet(context, (fleet) => fleet.createPod(config, clusterSize)));
  } catch (error) {
    await deletePod(context.db, authorOf(takingBack(context)), record);
    if (!(error instanceof ServiceError) || error.code === "unavailable") await forget(context, record);
    throw error;
  }
}

/** The Fleet object may have placed a pod although the call failed. What it does not hear now, maintenance tells it. */
async function forget(context: RequestContext, { id: podId, accountId }: PodRecord): Promise<void> {
  try {
    await fleetObject(context.env, accountId).changePod({ podId, accountId, change: { kind: "terminate" } });
  } catch (cause) {
    logFailure("fleet_not_reached", { podId }, cause);
  }
}

async function requireNeeds(
  context: RequestContext,
  { containerRegistryAuthId: id }: Pick<PodValues, "containerRegistryAuthId">,
): Promise<void> {
  if (id !== null) await requireRegistryAuth(context, id, "containerRegistryAuthId");
}

// Changing

/**
 * Changes what is sent. The container is replaced where it would be another one, or where its place does not have what
 * the pod needs then.
 */
export async function changePod(context: RequestContext, podId: string, edit: PodEdit): Promise<Pod> {
  return await write(context, podId, async ({ record }) => {
    const values = await valuesOfEdit(context, record, edit);
    const isNewVersion = replacesWorkers(podCreationFields, record, { ...record, ...values });
    return { values, change: "edit", isNewVersion };
  });
}

/** Starts a stopped pod, on its host if that has its volume. A running one stays as it is. */
export async function startPod(
  context: RequestContext,
  podId: string,
  values: Partial<Pick<PodValues, "gpuCount" | "allowedCudaVersions" | "bidPerGpu">> = {},
): Promise<Pod> {
  return await write(context, podId, ({ record, view }) => {
    refuseUnlike(record, values);
    const change = view.desired === "stopped" ? "start" : "edit";
    return { values, change, isNewVersion: change === "start" || isOther(record, values) };
  });
}

/** A new container takes the place of the present one; a stopped pod is started. */
export async function restartPod(context: RequestContext, podId: string): Promise<Pod> {
  return await write(context, podId, () => ({ values: {}, change: "restart", isNewVersion: true }));
}

/** The same, unless the pod is locked. Its volume stays, as it does whenever the container is replaced. */
export async function resetPod(context: RequestContext, podId: string): Promise<Pod> {
  return await write(context, podId, ({ record }) => {
    refuseLocked(record, "reset");
    return { values: {}, change: "restart", isNewVersion: true };
  });
}

/** Ends the container; the volume stays on its host. */
export async function stopPod(context: RequestContext, podId: string): Promise<Pod> {
  const { record } = await requirePod(context, podId);
  refuseLocked(record, "stop");
  const view = await sendToFleet(context, record, { kind: "stop" });
  await recordPodAction(context.db, authorOf(context), record);
  return { record, view };
}

/** Ends the pod and removes its volume; throws pod_not_found. */
export async function terminatePod(context: RequestContext, podId: string): Promise<void> {
  const record = await findRecord(context, podId);
  if (record === undefined) throw podNotFound(podId);
  const call = { podId, accountId: record.accountId, change: { kind: "terminate" } } as const;
  // One that the Fleet object does not know was terminated by its time, or by a call that broke off then.
  await callFleet(context, (fleet) => fleet.changePod(call));
  await deletePod(context.db, authorOf(context), record);
  await removeLogs(context, record);
}

/** What is left is removed when it is too old. */
async function removeLogs({ env }: RequestContext, { id, accountId }: PodRecord): Promise<void> {
  const owner = { accountId, endpointId: id };
  await removeLogsOf(env.LOGS, owner, Date.now(), logRetentionDays(env)).catch((cause: unknown) =>
    logFailure("logs_not_removed", { podId: id }, cause),
  );
}

type Plan = {
  readonly values: Partial<PodValues>;
  readonly change: "start" | "restart" | "edit";
  /** Whether its container is replaced; an edit without it leaves the container alone. */
  readonly isNewVersion: boolean;
};

/**
 * Writes a change to D1 and has the Fleet object follow; where that refuses, D1 is as it was. Where nobody knows whether
 * it has followed, what was has a newer version than it can have, and maintenance has it follow that.
 */
async function write(
  context: RequestContext,
  podId: string,
  plan: (pod: Pod) => Plan | Promise<Plan>,
): Promise<Pod> {
  const { read, record, change } = await retryOnConflict(async () => {
    const { record: read, view } = await requirePod(context, podId);
    const { values, change, isNewVersion } = await plan({ record: read, view });
    await requireNeeds(context, { ...read, ...values });
    const next = { ...values, version: read.version + (isNewVersion ? 1 : 0) };
    const record = await updatePodIfUnchanged(context.db, authorOf(context), read, next);
    return record && { read, record, change };
  });
  try {
    const view = await sendToFleet(context, record, { kind: change, config: toPodConfig(record) });
    if (record.env !== read.env) await warnOfMissingSecrets(context, record);
    return { record, view };
  } catch (error) {
    const mayHaveFollowed = !(error instanceof ServiceError) || error.code === "unavailable";
    const version = mayHaveFollowed && record.version > read.version ? record.version + 1 : read.version;
    await restorePod(context.db, record, { ...read, version });
    throw error;
  }
}

function isOther(record: PodRecord, values: Partial<PodValues>): boolean {
  const { gpuCount = record.gpuCount, allowedCudaVersions = record.allowedCudaVersions } = values;
  return gpuCount !== record.gpuCount || allowedCudaVersions !== record.allowedCudaVersions;
}

function refuseLocked({ id, locked }: PodRecord, action: string): void {
  if (!locked) return;
  throw new ServiceError("pod_locked", `podId: pod ${id} is locked; set locked to false to ${action} it`);
}

// The Fleet object

/** A call that breaks off is made once more: what has been done is not done again. */
async function sendToFleet(context: RequestContext, record: PodRecord, change: PodChange): Promise<PodView> {
  const call = { podId: record.id, accountId: record.accountId, change };
  const send = (): Promise<PodOutcome> => callFleet(context, (fleet) => fleet.changePod(call));
  return viewOf(record, await send().catch(send));
}

function viewOf({ id }: PodRecord, outcome: PodOutcome): PodView {
  switch (outcome.kind) {
    case "done":
      return outcome.pod;
    case "no_capacity":
      throw noCapacity(outcome.failure.detail);
    case "volume_elsewhere":
      throw volumeElsewhere(outcome.host, outcome.failure.detail);
    case "not_found":
      throw podNotFound(id);
  }
}

type Fleet = ReturnType<typeof fleetObject>;

async function callFleet<Reply>(
  { env, principal }: RequestContext,
  call: (fleet: Fleet) => Promise<Reply>,
): Promise<Reply> {
  try {
    return await call(fleetObject(env, principal.accountId));
  } catch (cause) {
    logFailure("fleet_not_reached", {}, cause);
    throw new ServiceError(
      "unavailable",
      "The fleet cannot be reached at the moment; please try again later.",
    );
  }
}
