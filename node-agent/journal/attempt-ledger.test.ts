import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { SILENT_LOG } from "../core/log.ts";
import { receiveOne } from "../../test/support/received-attempt.ts";
import { AttemptLedger } from "./attempt-ledger.ts";
import { Journal, type NewReport } from "./journal.ts";

const ENDPOINT = "endpoint-1";
const job = { id: "job-1", attempt: 1, workerId: "worker-1", executionTimeoutMs: 60_000 };

/** A journal whose disk may be full. */
class TestJournal extends Journal {
  isFull = false;

  override addReport(report: NewReport): Promise<void> {
    return this.isFull ? Promise.reject(new Error("disk full")) : super.addReport(report);
  }
}

function openJournal(stateDir: string): TestJournal {
  const journal = new TestJournal(stateDir);
  let isOpen = true;
  const close = journal.close.bind(journal);
  journal.close = () => {
    if (isOpen) close();
    isOpen = false;
  };
  onTestFinished(() => journal.close());
  return journal;
}

function stateDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "edgerun-ledger-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("an abandoned attempt leaves the journal", ({ expect }) => {
  const journal = openJournal(stateDirectory());
  const ledger = new AttemptLedger(journal, SILENT_LOG);
  receiveOne(ledger, ENDPOINT, job);
  expect(journal.attempts()).toHaveLength(1);
  expect(ledger.abandon(job.id, job.attempt)).toBe(true);
  expect(journal.attempts()).toEqual([]);
});

test("the journal knows which attempts have reached their workers", ({ expect }) => {
  const journal = openJournal(stateDirectory());
  const ledger = new AttemptLedger(journal, SILENT_LOG);
  const record = receiveOne(ledger, ENDPOINT, job);
  receiveOne(ledger, ENDPOINT, { ...job, id: "job-2" });
  ledger.recordStart(record);
  expect(journal.attempts().map(({ jobId, isDelivered }) => [jobId, isDelivered])).toEqual([
    ["job-1", true],
    ["job-2", false],
  ]);
});

test("an acknowledged report leaves the journal, and so does its attempt", async ({ expect }) => {
  const journal = openJournal(stateDirectory());
  const ledger = new AttemptLedger(journal, SILENT_LOG);
  const record = receiveOne(ledger, ENDPOINT, job);
  await ledger.report(record, { kind: "completed", output: "1" });
  expect(journal.attempts()).toEqual([]);
  expect(journal.reports()).toHaveLength(1);
  ledger.acknowledge(job.id, job.attempt, "accepted");
  expect(journal.reports()).toEqual([]);
});

test("after a restart all chunks are sent that the edge has not acknowledged", ({ expect }) => {
  const stateDir = stateDirectory();
  const journal = openJournal(stateDir);
  const before = new AttemptLedger(journal, SILENT_LOG);
  const record = receiveOne(before, ENDPOINT, job);
  for (const output of ["1", "2", "3"]) before.recordChunk(record, output);
  journal.close();
  const ledger = new AttemptLedger(openJournal(stateDir), SILENT_LOG);
  const [chunks] = ledger.unreceivedChunks({ endpointId: ENDPOINT, shard: 0 }, 1_000, () => false);
  expect(chunks).toMatchObject({ from: 1, outputs: ["1", "2", "3"] });
});

test("a result that could not be written is taken when the worker sends it again", async ({ expect }) => {
  const journal = openJournal(stateDirectory());
  const ledger = new AttemptLedger(journal, SILENT_LOG);
  const record = receiveOne(ledger, ENDPOINT, job);
  journal.isFull = true;
  await expect(ledger.report(record, { kind: "completed", output: "1" })).rejects.toThrow("disk full");
  journal.isFull = false;
  expect(ledger.isOpen(record)).toBe(true);
  expect(await ledger.report(record, { kind: "completed", output: "1" })).toBe(true);
});
