/** What a history with a failing network shows: figures, and what must not have been. */
import type { HealthBody, JobView } from "../../src/contract/job.ts";
import { type Execution, overlaps } from "./executions.ts";
import type { FleetWatch } from "./fleet-watch.ts";
import type { EndedJob, Load } from "./partition-load.ts";

/** The edge shows a host as lost a moment after it has given its jobs away. */
const SHOWN_LATE_MS = 1_000;
const UNKNOWN_MAX_MS = 15_000;
/** A host works as before from the first moment on after which so much of its share of all jobs lasts for so long. */
const BACK_SHARE = 0.9;
const BACK_WINDOW_MS = 3_000;
const BACK_LIMIT_MS = 20_000;
const LOOK_EVERY_MS = 100;

export type PartitionHistory = {
  /** The host whose network failed. */
  readonly host: string;
  readonly moments: { readonly baselineFrom: number; readonly brokenAt: number; readonly healedAt: number };
  readonly executions: readonly Execution[];
  readonly ended: readonly EndedJob[];
  /** The same jobs, read once more at the end. */
  readonly again: readonly JobView[];
  readonly counted: readonly HealthBody[];
  readonly load: Load;
  readonly watch: FleetWatch;
  readonly agentLog: string;
};

/** Times in ms; null where it did not happen. */
export type PartitionFigures = {
  readonly jobs: number;
  readonly retried: number;
  /** Executions of one job that went on at once, on a host that was given up and another. */
  readonly twice: number;
  /** From the failure until the host is shown as lost. */
  readonly lostMs: number | null;
  /** From the failure until an attempt of that host begins elsewhere. */
  readonly movedMs: number | null;
  /** From the end of the failure until the host is shown as present, and until it begins a job. */
  readonly presentMs: number | null;
  readonly workingMs: number | null;
  /** From the end of the failure until the host has the share of all jobs that it had before. */
  readonly backMs: number | null;
  /** The longest time for which the host had a worker without an assignment afterwards. */
  readonly unknownMs: number;
  /** Throughput during the failure as a share of that before. */
  readonly share: number;
  /** Why calls of the agent failed. */
  readonly reasons: readonly string[];
  readonly violations: readonly string[];
};

export function partitionFigures(history: PartitionHistory): PartitionFigures {
  const { host, moments, executions, load, watch, ended, counted } = history;
  const { baselineFrom, brokenAt, healedAt } = moments;
  const since = (moment: number | null | undefined, from: number) =>
    moment == null ? null : Math.round(moment - from);
  const baseline = load.rate(baselineFrom, brokenAt);
  const backMs = shareBackMs(history);
  const unknownMs = watch.longestUnknownMs(host, healedAt);
  const retried = counted.reduce((sum, { jobs }) => sum + jobs.retried, 0);
  return {
    jobs: ended.length,
    retried,
    twice: overlaps(executions).length,
    lostMs: since(watch.lostAt(host, brokenAt), brokenAt),
    movedMs: since(movedAt(history), brokenAt),
    presentMs: since(watch.presentAt(host, healedAt), healedAt),
    workingMs: since(
      executions.find((one) => one.host === host && one.beganAt >= healedAt)?.beganAt,
      healedAt,
    ),
    backMs,
    unknownMs,
    share: load.rate(brokenAt, healedAt) / baseline,
    reasons: reasonsOf(history.agentLog),
    violations: [
      ...jobViolations(history),
      ...overlapViolations(history),
      ...(unknownMs > UNKNOWN_MAX_MS ? [`a worker without an assignment for ${unknownMs} ms`] : []),
      ...(backMs === null || backMs > BACK_LIMIT_MS
        ? [`the host has its share again after ${backMs} ms`]
        : []),
    ],
  };
}

/** When a job that had begun on the host before or in the failure first begins on another one. */
function movedAt({ host, executions, moments }: PartitionHistory): number | undefined {
  const before = new Set(
    executions.filter((one) => one.host === host && one.beganAt < moments.healedAt).map(({ jobId }) => jobId),
  );
  return executions.find(
    (one) => one.host !== host && before.has(one.jobId) && one.beganAt > moments.brokenAt,
  )?.beganAt;
}

function jobViolations({ ended, again, counted }: PartitionHistory): readonly string[] {
  const violations = ended.flatMap(({ id, token, result }, index) => {
    const { status, output } = again[index] ?? {};
    if (result.status !== "COMPLETED") return [`${token} (${id}) is ${result.status}: ${result.error}`];
    if (result.output !== token) return [`${token} has the output ${JSON.stringify(result.output)}`];
    if (status !== result.status || output !== result.output) return [`${token} changed after its end`];
    return [];
  });
  const completed = counted.reduce((sum, { jobs }) => sum + jobs.completed, 0);
  const failed = counted.reduce((sum, { jobs }) => sum + jobs.failed, 0);
  if (completed + failed !== ended.length)
    violations.push(
      `${ended.length} jobs ended, but ${completed} completed and ${failed} failed are counted`,
    );
  return violations;
}

/** A job runs in two places only when the host of the earlier execution was given up meanwhile. */
function overlapViolations({ executions, watch }: PartitionHistory): readonly string[] {
  return overlaps(executions)
    .filter(
      ([earlier, later]) =>
        watch.lostAt(earlier.host, earlier.beganAt, later.beganAt + SHOWN_LATE_MS) === null,
    )
    .map(
      ([{ jobId, host }, later]) =>
        `${jobId} began on ${later.host} while it ran on ${host}, which was there`,
    );
}

/** By shares, since how much the machine does meanwhile depends on what else it does. */
function shareBackMs({ host, executions, moments }: PartitionHistory): number | null {
  const ends = executions.flatMap((one) => (one.endedAt === undefined ? [] : [{ ...one, at: one.endedAt }]));
  const share = (from: number, to: number): number => {
    const ended = ends.filter(({ at }) => at >= from && at < to);
    return ended.filter((one) => one.host === host).length / Math.max(1, ended.length);
  };
  const before = share(moments.baselineFrom, moments.brokenAt);
  const lastAt = Math.max(...ends.map(({ at }) => at)) - BACK_WINDOW_MS;
  for (let from = moments.healedAt; from <= lastAt; from += LOOK_EVERY_MS)
    if (share(from, from + BACK_WINDOW_MS) >= BACK_SHARE * before) return from - moments.healedAt;
  return null;
}

/** What the agent logged of conversations that failed, each once. */
function reasonsOf(log: string): readonly string[] {
  const lines = log.split("\n").filter((line) => line.includes('"edge_unreachable"'));
  return [...new Set(lines.map((line) => (JSON.parse(line) as { readonly detail: string }).detail))];
}
