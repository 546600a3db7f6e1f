/** What is left of pods that only D1 or only the Fleet object knows. */
import type { Database } from "../../db/database.ts";
import { findKnownPodIds, listPodsAfter, removePods } from "../../db/pods.ts";
import type { Env } from "../../env.ts";
import { fleetObject } from "../objects.ts";

/** A row is written before the Fleet object hears of its pod, which takes no longer than this. */
export const POD_HALF_MIN_AGE_MS = 5 * 60_000;

const PODS_AT_ONCE = 500;

type Place = { readonly env: Env; readonly db: Database };

/** Removes rows of pods that the Fleet object does not know; returns how many. */
export async function removePodRows({ env, db }: Place, now: number): Promise<number> {
  let removed = 0;
  let after = "";
  for (;;) {
    const rows = await listPodsAfter(db, after, now - POD_HALF_MIN_AGE_MS, PODS_AT_ONCE);
    const lost: string[] = [];
    for (const [accountId, own] of Map.groupBy(rows, (row) => row.accountId)) {
      const ids = own.map(({ id }) => id);
      const known = new Set((await fleetObject(env).podsOf(accountId, ids)).map(({ podId }) => podId));
      lost.push(...ids.filter((id) => !known.has(id)));
    }
    if (lost.length > 0) await removePods(db, lost, now);
    removed += lost.length;
    if (rows.length < PODS_AT_ONCE) return removed;
    after = rows.at(-1)?.id ?? "";
  }
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
