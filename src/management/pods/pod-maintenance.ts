/** What is left of pods that only D1 or only the Fleet object knows, or that they know differently. */
import type { Database } from "../../db/database.ts";
import { findKnownPodIds, listPodsAfter, type PodRecord, removePods, toPodConfig } from "../../db/pods.ts";
import type { Env } from "../../env.ts";
import type { PodView } from "../../fleet/messages.ts";
import { fleetObject } from "../objects.ts";

/** A row is written before the Fleet object hears of its pod, which takes no longer than this. */
export const POD_HALF_MIN_AGE_MS = 5 * 60_000;
/** Nor does it take longer until the Fleet object follows a change, unless the call broke off. */
export const POD_CHANGE_MIN_AGE_MS = 60_000;

const PODS_AT_ONCE = 500;

type Place = { readonly env: Env; readonly db: Database };

/**
 * Removes rows of pods that the Fleet object does not know, and has it follow those that it has differently, since a
 * change broke off; returns how many.
 */
export async function settlePodRows({ env, db }: Place, now: number): Promise<number> {
  let settled = 0;
  let after = "";
  for (;;) {
    const rows = await listPodsAfter(db, after, now - POD_CHANGE_MIN_AGE_MS, PODS_AT_ONCE);
    const views = await viewsOf(env, rows);
    const lost = rows.filter(({ id, createdAt }) => !views.has(id) && createdAt <= now - POD_HALF_MIN_AGE_MS);
    for (const row of rows) if (differs(row, views.get(row.id), now)) settled += await follow(env, row);
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
    for (const view of await fleetObject(env).podsOf(accountId, podIds)) views.set(view.podId, view);
  }
  return views;
}

function differs(row: PodRecord, view: PodView | undefined, now: number): boolean {
  if (view === undefined || row.updatedAt > now - POD_CHANGE_MIN_AGE_MS) return false;
  return JSON.stringify(view.config) !== JSON.stringify(toPodConfig(row));
}

/** Where it finds no place for that, the pod goes on as it is, and the next run asks again. */
async function follow(env: Env, row: PodRecord): Promise<number> {
  const change = { kind: "edit", config: toPodConfig(row) } as const;
  const outcome = await fleetObject(env).changePod({ podId: row.id, accountId: row.accountId, change });
  return outcome.kind === "done" ? 1 : 0;
}

/** Terminates pods of which D1 knows nothing; returns how many. */
export async function terminateUnknownPods({ env, db }: Place): Promise<number> {
  let terminated = 0;
  let after = "";
  for (;;) {
    const pods = await fleetObject(env).podIds(after, PODS_AT_ONCE);
    const known = await findKnownPodIds(
      db,
      pods.map(({ podId }) => podId),
    );
    for (const { podId, accountId } of pods.filter((pod) => !known.has(pod.podId))) {
      await fleetObject(env).changePod({ podId, accountId, change: { kind: "terminate" } });
      terminated += 1;
    }
    if (pods.length < PODS_AT_ONCE) return terminated;
    after = pods.at(-1)?.podId ?? "";
  }
}
