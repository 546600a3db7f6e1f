/** The cancellation of a batch cancels what waits, and nothing else. */
import { SeqOwners, type SeqRanges } from "../../../src/domain/jobs/seq-ranges.ts";
import type { SimulatedObject } from "../runtime/objects.ts";
import type { JobChange } from "../runtime/storage.ts";
import { openJobs } from "./endpoint-rows.ts";
import { nameOf } from "./job-rows.ts";

const BATCHES = "SELECT number, state, ranges FROM batch";
/** Changes of jobs that a worker had; the second one where no row has told of the claim. */
const INTERRUPTIONS = new Set(["running > cancelled 0", "queued > cancelled 1"]);

type BatchRow = { readonly number: number; readonly state: string; readonly ranges: string };

/** What is wrong with the batches of an object after these changes of its jobs; no client cancels a request by itself. */
export function violationsOfCancels(
  { name, storage }: Pick<SimulatedObject, "name" | "storage">,
  changes: readonly JobChange[],
): readonly string[] {
  const rows = storage.select(BATCHES) as BatchRow[];
  if (rows.length === 0) return [];
  const owners = new SeqOwners(rows.map((row) => [row, JSON.parse(row.ranges) as SeqRanges] as const));
  const interrupted = changes
    .filter((change) => INTERRUPTIONS.has(nameOf(change)) && owners.find(change.seq))
    .map(({ seq }) => `job ${seq} of ${name} ran, and was cancelled with its batch`);
  const left = openJobs(storage)
    .waiting.filter(({ seq, isRequeued }) => !isRequeued && owners.find(seq)?.state === "cancelled")
    .map(({ seq }) => `job ${seq} of ${name} waits, though its batch is cancelled`);
  return [...interrupted, ...left];
}
