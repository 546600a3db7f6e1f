import { expect, test } from "vitest";
import { TTL_DEFAULT_MS } from "../../../src/contract/limits.ts";
import type { PreviewRequest } from "./preview-jobs.ts";
import { type ClaimedJob, PreviewQueue } from "./preview-queue.ts";
import { RUN_RETENTION_MS } from "../../../src/domain/jobs/job-machine.ts";

/** A queue whose time is moved by hand, and what it has asked for. */
function openQueue() {
  const clock = { now: 1_000 };
  const stops: string[] = [];
  let queuedCount = 0;
  const queue = new PreviewQueue({
    endpointId: "preview-x",
    executionTimeoutMs: 600_000,
    explainWait: (position) => ({ position, reason: "at_max_workers", detail: "busy" }),
    onStop: (_, attempt, reason) => stops.push(`${attempt} ${reason}`),
    onQueued: () => (queuedCount += 1),
    now: () => clock.now,
  });
  const submit = (request: Partial<PreviewRequest> = {}, key?: string): string =>
    queue.submit({ input: "{}", ...request }, { isSync: false, waitMs: null, key });
  const claim = (): ClaimedJob => {
    const [claimed] = queue.claim("worker", 1);
    if (!claimed) throw new Error("Nothing waits.");
    return claimed;
  };
  return { queue, clock, stops, submit, claim, queued: () => queuedCount };
}

test("a job waits, runs and ends with what its worker reports", async () => {
  const { queue, clock, submit, claim } = openQueue();
  const id = submit({ input: '{"x":1}', policy: { executionTimeout: 5_000 } });
  expect(queue.view(id)).toMatchObject({ status: "IN_QUEUE", queue: { position: 0 } });
  clock.now += 250;
  const { record, job } = claim();
  expect(job).toMatchObject({ id, input: '{"x":1}', policy: { executionTimeout: 5_000 } });
  expect(record.executionTimeoutMs).toBe(5_000);
  clock.now += 40;
  expect(await queue.report(record, { kind: "completed", output: '{"y":2}' })).toBe(true);
  expect(queue.view(id)).toMatchObject({
    ...{ status: "COMPLETED", delayTime: 250, executionTime: 40, workerId: "worker" },
    output: { kind: "inline", json: '{"y":2}' },
  });
  expect(await queue.report(record, { kind: "failed", error: "late", output: undefined })).toBe(false);
  expect(queue.counts()).toEqual({ completed: 1, failed: 0, inProgress: 0, inQueue: 0, retried: 0 });
});

test("normal jobs go before those of low priority, else the oldest goes first", () => {
  const { queue, submit } = openQueue();
  const low = submit({ policy: { lowPriority: true } });
  const [first, second] = [submit(), submit()];
  expect(queue.view(low)?.queue?.position).toBe(2);
  expect(queue.claim("worker", 5).map(({ job }) => job.id)).toEqual([first, second, low]);
  expect(queue.claim("worker", 5)).toEqual([]);
});

test("a job whose worker is lost runs once more, and fails when that is lost too", async () => {
  const { queue, submit, claim, queued } = openQueue();
  const id = submit();
  await queue.report(claim().record, { kind: "lost", reason: "it ended" });
  expect(queue.view(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
  expect(queued()).toBe(2);
  await queue.report(claim().record, { kind: "lost", reason: "it ended again" });
  expect(queue.view(id)).toMatchObject({
    status: "FAILED",
    error: expect.stringContaining("it ended again"),
  });
});

test("a cancelled job that runs is stopped, and its late result changes nothing", async () => {
  const { queue, stops, submit, claim } = openQueue();
  const id = submit();
  const { record } = claim();
  expect(queue.cancel(id)).toBe("CANCELLED");
  expect(stops).toEqual(["1 cancelled"]);
  expect(queue.abandon(id, 1)).toBe(true);
  expect(await queue.report(record, { kind: "completed", output: "1" })).toBe(false);
  expect(queue.cancel(id)).toBe("CANCELLED");
  expect(stops).toHaveLength(1);
  expect(queue.cancel("unknown")).toBeUndefined();
});

test("a failed job can be retried, under its id and with its input; a completed one cannot", async () => {
  const { queue, submit, claim } = openQueue();
  const id = submit({ input: '{"x":1}' });
  await queue.report(claim().record, { kind: "failed", error: "no", output: undefined });
  expect(queue.retry(id)).toEqual({ isDone: true, status: "IN_QUEUE" });
  const again = claim();
  expect(again).toMatchObject({ record: { attempt: 2 }, job: { id, input: '{"x":1}' } });
  await queue.report(again.record, { kind: "completed", output: undefined });
  expect(queue.retry(id)).toEqual({ isDone: false, status: "COMPLETED" });
  expect(queue.counts()).toMatchObject({ completed: 1, failed: 1, retried: 1 });
});

test("chunks are handed out once, and those of a lost attempt are not mixed with the next one's", async () => {
  const { queue, submit, claim } = openQueue();
  const id = submit();
  const first = claim().record;
  queue.recordChunk(first, "1");
  await queue.report(first, { kind: "lost", reason: "it ended" });
  const second = claim().record;
  expect(queue.recordChunk(first, "2")).toBe(false);
  queue.recordChunk(second, "3");
  queue.recordChunk(second, "4");
  expect(queue.drain(id)).toEqual({ status: "IN_PROGRESS", outputs: ["3", "4"] });
  queue.recordChunk(second, "5");
  await queue.report(second, { kind: "completed", output: "[3,4,5]" });
  expect(queue.drain(id)).toEqual({ status: "COMPLETED", outputs: ["5"] });
  expect(queue.drain(id)).toEqual({ status: "COMPLETED", outputs: [] });
});

test("purging cancels what waits and leaves what runs", () => {
  const { queue, submit, claim } = openQueue();
  const running = submit();
  claim();
  const waiting = submit();
  expect(queue.purge()).toBe(1);
  expect(queue.view(running)?.status).toBe("IN_PROGRESS");
  expect(queue.view(waiting)?.status).toBe("CANCELLED");
});

test("an idempotency key gives the same job as long as it lives", () => {
  const { queue, clock, submit } = openQueue();
  const id = submit({}, "k");
  expect(submit({}, "k")).toBe(id);
  expect(submit({}, "other")).not.toBe(id);
  clock.now += TTL_DEFAULT_MS;
  expect(submit({}, "k")).not.toBe(id);
  expect(queue.view(id)).toBeUndefined();
});

test("a job is gone when its ttl is over, also while it runs, and a result after its retention", async () => {
  const { queue, clock, stops, submit, claim } = openQueue();
  const running = submit({ policy: { ttl: 10_000 } });
  claim();
  const ended = submit();
  await queue.report(claim().record, { kind: "completed", output: "1" });
  clock.now += 10_000;
  expect(queue.view(running)).toBeUndefined();
  expect(stops).toEqual(["1 expired"]);
  clock.now += RUN_RETENTION_MS;
  expect(queue.list({ offset: 0, limit: 10 })).toMatchObject({ total: 0, requests: [] });
  expect(queue.view(ended)).toBeUndefined();
});

test("requests are listed the newest first, by status and in pages", async () => {
  const { queue, submit, claim } = openQueue();
  const [first, second, third] = [submit(), submit(), submit()];
  await queue.report(claim().record, { kind: "completed", output: "1" });
  const idsOf = (query: Parameters<typeof queue.list>[0]) => queue.list(query).requests.map(({ id }) => id);
  expect(idsOf({ offset: 0, limit: 2 })).toEqual([third, second]);
  expect(queue.list({ offset: 0, limit: 2 })).toMatchObject({ total: 3, hasMore: true });
  expect(idsOf({ offset: 2, limit: 2 })).toEqual([first]);
  expect(idsOf({ status: "COMPLETED", offset: 0, limit: 9 })).toEqual([first]);
});
