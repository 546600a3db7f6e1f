/** What is left of pods that only D1 or only the Fleet object knows, or that they know differently. */
import type { Database } from "../../db/database.ts";
import {
  findKnownPodIds,
  listPodsAfter,
  placeValuesOf,
  type PodRecord,
  removePods,
  restorePod,
  toPodConfig,
} from "../../db/pods.ts";
import type { Env } from "../../env.ts";
import type { PodOutcome, PodView } from "../../fleet/messages.ts";
import { ofEachFleet } from "../fleets.ts";
import { fleetObject } from "../objects.ts";

/** A row is written before the Fleet object hears of its pod, which takes no longer than this. */
export const POD_HALF_MIN_AGE_MS = 5 * 60_000;
/** Nor does it take longer until the Fleet object follows a change, unless the call broke off. */
export const POD_CHANGE_MIN_AGE_MS = 60_000;

const PODS_AT_ONCE = 500;
/** Pods of which one run has the Fleet object follow a change; the others wait for the next run. */
const FOLLOWED_MAX = 50;

type Place = { readonly env: Env; readonly db: Database };

/**
 * Removes rows of pods that the Fleet object does not know, and has it follow those that it has differently, since a
 * change broke off; returns how many.
 */
export async function settlePodRows(place: Place, now: number): Promise<number> {
  const { env, db } = place;
  let settled = 0;
  let followed = 0;
  let after = "";
  for (;;) {
    const rows = await listPodsAfter(db, after, now - POD_CHANGE_MIN_AGE_MS, PODS_AT_ONCE);
    const views = await viewsOf(env, rows);
    const lost = rows.filter(({ id, createdAt }) => !views.has(id) && createdAt <= now - POD_HALF_MIN_AGE_MS);
    for (const row of rows) {
      const view = views.get(row.id);
      if (!view || followed >= FOLLOWED_MAX || !differs(row, view, now)) continue;
      followed += 1;
      if (await follow(place, row, view)) settled += 1;
    }
    if (lost.length > 0)
      await removePods(
        db,
        lost.map(({ id }) => id),
        now,
      );
    settled += lost.length;
    if (rows.length < PODS_AT_ONCE) return settled;
    after = rows.at(-1)?.id ?? "";
  }
}

async function viewsOf(env: Env, rows: readonly PodRecord[]): Promise<ReadonlyMap<string, PodView>> {
  const views = new Map<string, PodView>();
  for (const [accountId, own] of Map.groupBy(rows, (row) => row.accountId)) {
    const podIds = own.map(({ id }) => id);
    for (const view of await fleetObject(env, accountId).podsOf(accountId, podIds))
      views.set(view.podId, view);
  }
  return views;
}

function differs(row: PodRecord, { config }: PodView, now: number): boolean {
  const isUnderWay = row.updatedAt > now - POD_CHANGE_MIN_AGE_MS;
  return !isUnderWay && JSON.stringify(config) !== JSON.stringify(toPodConfig(row));
}

/**
 * Has the Fleet object follow a row; whether it does. Where no place fits that, the row gets back what its container
 * has: a change that failed must not come about whenever there is room.
 */
async function follow({ env, db }: Place, row: PodRecord, { config }: PodView): Promise<boolean> {
  const outcome = await sendConfig(env, row);
  if (outcome.kind === "done" || outcome.kind === "not_found") return outcome.kind === "done";
  const fitting = { ...row, ...placeValuesOf(config, row), version: row.version + 1 };
  await restorePod(db, row, fitting);
  return (await sendConfig(env, fitting)).kind === "done";
}

async function sendConfig(env: Env, row: PodRecord): Promise<PodOutcome> {
  const change = { kind: "edit", config: toPodConfig(row) } as const;
  return await fleetObject(env, row.accountId).changePod({ podId: row.id, accountId: row.accountId, change });
}

/** Terminates pods of which D1 knows nothing; returns how many. */
export async function terminateUnknownPods({ env, db }: Place): Promise<number> {
  const counts = await ofEachFleet(db, (accountId) => terminateUnknownPodsOf({ env, db }, accountId));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function terminateUnknownPodsOf({ env, db }: Place, accountId: string): Promise<number> {
  let terminated = 0;
  let after = "";
  for (;;) {
    const podIds = await fleetObject(env, accountId).podIds(after, PODS_AT_ONCE);
    const known = await findKnownPodIds(db, podIds);
    for (const podId of podIds.filter((one) => !known.has(one))) {
      await fleetObject(env, accountId).changePod({ podId, accountId, change: { kind: "terminate" } });
      terminated += 1;
    }
    if (podIds.length < PODS_AT_ONCE) return terminated;
    after = podIds.at(-1) ?? "";
  }
}
