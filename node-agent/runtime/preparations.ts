/** Gets what a worker needs onto the host, all of it at the same time, and tells of all in one sentence. */
import type { PrepareOutcome, PrepareProgress } from "./runtime.ts";

export type Preparing = {
  readonly what: PrepareProgress["what"];
  readonly run: (onProgress: (detail: string) => void) => Promise<PrepareOutcome>;
};

export async function prepareAll(
  preparations: readonly Preparing[],
  onProgress: (progress: PrepareProgress) => void,
): Promise<PrepareOutcome> {
  const details = new Map<string, string>();
  const runs = preparations.map(async ({ what, run }) => {
    const outcome = await run((detail) => {
      details.set(what, detail);
      onProgress({ what, detail: [...details.values()].join("; ") });
    });
    details.delete(what);
    return outcome;
  });
  const outcomes = await Promise.all(runs);
  const errors = outcomes.flatMap((outcome) => (outcome.kind === "failed" ? [outcome.detail] : []));
  if (errors.length > 0) return { kind: "failed", detail: errors.join(" ") };
  const warnings = outcomes.flatMap((outcome) =>
    outcome.kind === "prepared" ? (outcome.warning ?? []) : [],
  );
  return warnings.length > 0 ? { kind: "prepared", warning: warnings.join(" ") } : { kind: "prepared" };
}
