import { openDatabase } from "../db/database.ts";
import type { Env } from "../env.ts";
import { logFailure } from "../failure-log.ts";
import { MAINTENANCE_TASKS } from "./tasks.ts";

/** Runs every task once, one after the other; one that fails does not keep the others from theirs. */
export async function maintain(env: Env, now: number): Promise<void> {
  const context = { env, db: openDatabase(env.DB), now };
  for (const { name, run } of MAINTENANCE_TASKS) {
    await run(context).catch((cause: unknown) => logFailure("maintenance_failed", { task: name }, cause));
  }
}
