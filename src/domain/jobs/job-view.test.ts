import { test } from "vitest";
import { queuedJob, transition, type StoredJob, type JobEvent } from "./job-machine.ts";
import { listJob, viewJob } from "./job-view.ts";

const SUBMITTED_AT = 1_000;

function jobAfter(...events: readonly (readonly [at: number, event: JobEvent])[]): StoredJob {
  const submitted = { isSync: false, ttlMs: 1_000_000, executionTimeoutMs: 600_000, retentionMs: 60_000 };
  return events.reduce<StoredJob>(
    (job, [at, event]) => {
      const verdict = transition(job, event, at);
      return verdict.kind === "moved" ? verdict.job : job;
    },
    queuedJob(submitted, SUBMITTED_AT),
  );
}

const claim: JobEvent = { kind: "claim", workerId: "w", hostId: "h" };

test.for([
  ["waits", jobAfter(), [500, 0]],
  ["runs", jobAfter([1_200, claim]), [200, 300]],
  ["was claimed by a clock that is ahead", jobAfter([1_600, claim]), [600, 0]],
  ["waits again", jobAfter([1_200, claim], [1_300, { kind: "undeliver", attempt: 1 }]), [500, 0]],
  [
    "has completed",
    jobAfter([1_200, claim], [1_250, { kind: "complete", attempt: 1, output: null }]),
    [200, 50],
  ],
  ["was cancelled before it ran", jobAfter([1_100, { kind: "cancel" }]), [100, 0]],
] as const)("a job that %s has both times as integers", ([, job, [delayTime, executionTime]], { expect }) => {
  const times = { delayTime, executionTime };
  expect(viewJob("id", job, { progress: null, queue: null, now: 1_500 })).toMatchObject(times);
  expect(listJob("id", job, 1_500)).toMatchObject(times);
});
