/** An attempt as the edge gives it to a host. */
import type { AttemptLedger } from "../../node-agent/journal/attempt-ledger.ts";
import type { AttemptRecord } from "../../node-agent/journal/journal.ts";

type Job = Parameters<AttemptLedger["receive"]>[1][number];

export function receiveOne(ledger: AttemptLedger, endpointId: string, job: Job): AttemptRecord {
  const [record] = ledger.receive(endpointId, [job]);
  if (!record) throw new Error("The ledger has no record of it.");
  return record;
}
