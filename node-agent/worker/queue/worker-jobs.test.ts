import { mkdtempSync, rmSync } from "node:fs";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { onTestFinished, test, vi } from "vitest";
import { SILENT_LOG } from "../../core/log.ts";
import { TIMING } from "../../core/timing.ts";
import { AttemptLedger, type ReceivedAttempt } from "../../journal/attempt-ledger.ts";
import { receiveOne } from "../../../test/support/received-attempt.ts";
import { Journal } from "../../journal/journal.ts";
import { Poll } from "../../worker-server/poll.ts";
import { WorkerJobs } from "./worker-jobs.ts";

function setUp() {
  const stateDir = mkdtempSync(join(tmpdir(), "edgerun-jobs-"));
  const journal = new Journal(stateDir);
  const ledger = new AttemptLedger(journal, SILENT_LOG);
  const options = { ledger, log: SILENT_LOG, timing: TIMING, onChange: () => {}, onRefresh: () => {} };
  const jobs = new WorkerJobs(options);
  onTestFinished(() => {
    jobs.close();
    journal.close();
    rmSync(stateDir, { recursive: true, force: true });
  });
  const receive = (id: string, attempt = 1): ReceivedAttempt => {
    const job = { id, attempt, workerId: "worker-1", input: "1", executionTimeoutMs: 60_000 };
    return { job, record: receiveOne(ledger, "endpoint-1", job) };
  };
  return { jobs, ledger, receive };
}

const RESULT = { bytes: Buffer.from('{"output":1}'), sizeBytes: 12 };

/** As an agent takes back an attempt that it has received; `isDelivered`: whether it had delivered it as well. */
function adopt(jobs: WorkerJobs, { record }: ReceivedAttempt, isDelivered = true): void {
  jobs.adopt({ ...record, isDelivered });
}

/** A poll whose peer has gone without a word. */
function deadPoll(): Poll {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const poll = new Poll(response, () => {});
  response.destroyed = true;
  return poll;
}

test("a job whose delivery failed waits for the next poll", async ({ expect }) => {
  const { jobs, receive } = setUp();
  jobs.take(deadPoll(), 1, false, 1_000);
  jobs.accept([receive("job-1")]);
  await nextTurn();
  expect(jobs.idsInside()).toEqual([]);
  expect(jobs.isEmpty()).toBe(false);
});

test("a job that was stopped while its delivery failed waits for no poll", async ({ expect }) => {
  const { jobs, receive } = setUp();
  jobs.take(deadPoll(), 1, false, 1_000);
  jobs.accept([receive("job-1")]);
  expect(jobs.stop("job-1", 1, "cancelled")).toBe(true);
  await nextTurn();
  expect(jobs.isEmpty()).toBe(true);
});

test("a result of a job whose delivery failed counts, since the reply may have arrived", async ({
  expect,
}) => {
  const { jobs, ledger, receive } = setUp();
  jobs.take(deadPoll(), 1, false, 1_000);
  const received = receive("job-1");
  jobs.accept([received]);
  await nextTurn();
  await jobs.result("job-1", RESULT);
  expect(ledger.isOpen(received.record)).toBe(false);
  expect(jobs.isEmpty()).toBe(true);
});

test("a result that comes twice is none of a later attempt, which still waits", async ({ expect }) => {
  const { jobs, ledger, receive } = setUp();
  adopt(jobs, receive("job-1"));
  const second = receive("job-1", 2);
  jobs.accept([second]);
  await jobs.result("job-1", RESULT);
  await jobs.result("job-1", RESULT);
  expect(jobs.holds("job-1")).toBe(false);
  expect(ledger.isOpen(second.record)).toBe(true);
});

test("a retry that an earlier agent may not have delivered takes no result: its first attempt may have posted it", async ({
  expect,
}) => {
  const { jobs, ledger, receive } = setUp();
  const [first, retried, delivered] = [receive("first"), receive("retried", 2), receive("delivered", 2)];
  adopt(jobs, first, false);
  adopt(jobs, retried, false);
  adopt(jobs, delivered);
  for (const id of ["first", "retried", "delivered"]) await jobs.result(id, RESULT);
  expect([first, retried, delivered].map(({ record }) => ledger.isOpen(record))).toEqual([
    false,
    true,
    false,
  ]);
});

test("jobs that wait survive the container that is stopped, those inside are lost", ({ expect }) => {
  const { jobs, ledger, receive } = setUp();
  const inside = receive("job-1");
  adopt(jobs, inside);
  const waiting = receive("job-2");
  jobs.accept([waiting]);
  jobs.forgetInside("The worker was stopped.");
  expect(jobs.holds("job-1")).toBe(false);
  expect(jobs.isEmpty()).toBe(false);
  expect(ledger.isOpen(waiting.record)).toBe(true);
  expect(ledger.isOpen(inside.record)).toBe(false);
});

test("a retry that waits for a handler which does not stop is lost, unless its container ends anyway", ({
  expect,
}) => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const retriedBeside = (...others: string[]): boolean => {
    const { jobs, ledger, receive } = setUp();
    for (const id of ["job-1", ...others]) adopt(jobs, receive(id));
    jobs.stop("job-1", 1, "timed_out");
    const second = receive("job-1", 2);
    jobs.accept([second]);
    vi.advanceTimersByTime(TIMING.stopGraceMs);
    return ledger.isOpen(second.record);
  };
  expect([retriedBeside("job-2"), retriedBeside()]).toEqual([false, true]);
});

test("a job that an earlier agent may not have delivered is lost when two pings do not name it", ({
  expect,
}) => {
  const { jobs, ledger, receive } = setUp();
  const [delivered, named, missing] = [receive("delivered"), receive("named"), receive("missing")];
  adopt(jobs, delivered);
  adopt(jobs, named, false);
  adopt(jobs, missing, false);
  jobs.ping(new Set());
  jobs.ping(new Set(["named"]));
  jobs.ping(new Set());
  expect(jobs.idsInside()).toEqual(["delivered", "named"]);
  expect([delivered, named, missing].map(({ record }) => ledger.isOpen(record))).toEqual([true, true, false]);
  expect(jobs.hasLostResults()).toBe(false);
});

test("which jobs a worker of an earlier agent has is known once it says so", ({ expect }) => {
  const { jobs, receive } = setUp();
  const known = (act: () => void): readonly string[] | null => {
    act();
    return jobs.idsThatMayRun();
  };
  adopt(jobs, receive("job-1"));
  jobs.expectStrays();
  expect(known(() => jobs.ping(new Set()))).toBeNull(); // some workers' pings never name any
  expect(known(() => jobs.ping(new Set(["job-1", "stray"])))).toBeNull();
  expect(known(() => jobs.ping(new Set(["job-1"])))).toEqual(["job-1"]);
  expect(known(() => jobs.expectStrays())).toBeNull();
  expect(known(() => jobs.take(deadPoll(), 1, true, 1_000))).toBeNull();
  expect(known(() => jobs.take(deadPoll(), 1, false, 1_000))).toEqual([]);
  expect(known(() => jobs.expectStrays())).toBeNull();
  expect(known(() => jobs.loseAll("The container has ended."))).toEqual([]);
});

test("a job whose delivery failed may run all the same", async ({ expect }) => {
  const { jobs, receive } = setUp();
  jobs.take(deadPoll(), 1, false, 1_000);
  jobs.accept([receive("job-1")]);
  await nextTurn();
  expect(jobs.idsThatMayRun()).toEqual(["job-1"]);
});

test("a handler that an earlier agent was stopping is found by its pings, and is overdue after the grace period", ({
  expect,
}) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { jobs, receive } = setUp();
  const named = (...ids: string[]): void => {
    vi.advanceTimersByTime(TIMING.stopGraceMs);
    jobs.ping(new Set(ids));
  };
  adopt(jobs, receive("job-1"));
  jobs.expectStrays();
  named("job-1", "stray");
  named("job-1");
  named("job-1", "stray");
  expect(jobs.hasOverdueStop()).toBe(false);
  named("job-1", "stray");
  expect(jobs.hasOverdueStop()).toBe(true);
  expect(jobs.needsHardStop()).toBe(false); // a job that is wanted still runs
  jobs.stop("job-1", 1, "cancelled");
  jobs.forgetInside("The worker was stopped.");
  expect(jobs.hasOverdueStop()).toBe(false);
});

test("a handler that an earlier agent was stopping is found though jobs have ended before the first ping", async ({
  expect,
}) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { jobs, receive } = setUp();
  const named = (...ids: string[]): boolean => {
    jobs.ping(new Set(ids));
    vi.advanceTimersByTime(TIMING.stopGraceMs);
    return jobs.hasOverdueStop();
  };
  adopt(jobs, receive("job-1"));
  jobs.expectStrays();
  await jobs.result("job-1", RESULT);
  expect(named("job-1")).toBe(false); // it came late
  expect(named("job-1", "stray")).toBe(true);
});

test("a worker with nothing but a stray is to be stopped until that ends; a ping that comes late makes none", async ({
  expect,
}) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const namesTwice = (jobs: WorkerJobs): void => {
    jobs.ping(new Set(["job-1"]));
    vi.advanceTimersByTime(TIMING.stopGraceMs);
    jobs.ping(new Set(["job-1"]));
  };
  const recovered = setUp().jobs;
  recovered.expectStrays();
  namesTwice(recovered);
  expect(recovered.needsHardStop()).toBe(true);
  await recovered.result("job-1", RESULT);
  expect(recovered.needsHardStop()).toBe(false);
  const fresh = setUp().jobs;
  namesTwice(fresh);
  expect(fresh.needsHardStop()).toBe(false);
});
