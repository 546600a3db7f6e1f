/** Work with the Fleet objects of all accounts. */
import { listAccounts } from "../db/accounts.ts";
import type { Database } from "../db/database.ts";
import { fewAtOnce } from "../std/few-at-once.ts";
import { logFailure } from "./failure-log.ts";

/** Objects that are called at the same time. */
const FLEETS_AT_ONCE = 20;

/** Does the work for each account; returns what came of it where it did not fail. Failures are logged. */
export async function ofEachFleet<Answer>(
  db: Database,
  work: (accountId: string) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const accounts = await listAccounts(db);
  const answers: Answer[] = [];
  await fewAtOnce(accounts, FLEETS_AT_ONCE, async ({ id: accountId }) => {
    try {
      answers.push(await work(accountId));
    } catch (cause) {
      logFailure("fleet_not_reached", { accountId }, cause);
    }
  });
  return answers;
}
