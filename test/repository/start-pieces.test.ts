/** What `npm start` says where its state directory cannot be used, and of jobs. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { JobLines } from "../../scripts/start/job-lines.ts";
import { Failure } from "../../src/std/failure.ts";
import { StateDirectory } from "../../standalone/state-directory.ts";

function place(): string {
  const made = mkdtempSync(join(tmpdir(), "edgerun-place-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  writeFileSync(join(made, "file"), "");
  return made;
}

test.for([
  ["a file", (made: string) => join(made, "file")],
  ["below a file", (made: string) => join(made, "file/deep/er")],
  ["where the system has no directories", () => "/proc/edgerun/state"],
  ["where nobody can write", () => "/sys/edgerun/state"],
] as const)("a state directory that is %s is refused at once, with the path", ([, pathIn], { expect }) => {
  const path = pathIn(place());
  expect(() => new StateDirectory(path)).toThrow(Failure);
  expect(() => new StateDirectory(path)).toThrow(path);
});

test("a state directory is made with all above it", ({ expect }) => {
  const state = new StateDirectory(join(place(), "a/b/c"));
  expect(readFileSync(state.file("api-key").replace("api-key", "../../../file"), "utf8")).toBe("");
  expect(state.apiKey()).toMatch(/^er_/);
});

test("a job that ended is one line, with how long it took here", ({ expect }) => {
  const lines = new JobLines();
  const log = (event: object): string | undefined => lines.read(JSON.stringify({ level: 30, ...event }));
  expect(log({ msg: "worker_ready", time: 1, workerId: "w" })).toBeUndefined();
  expect(log({ msg: "job_received", time: 1_000, jobId: "j", attempt: 1 })).toBeUndefined();
  expect(log({ msg: "job_received", time: 1_001, jobId: "k", attempt: 2 })).toBeUndefined();
  const outcome = "output";
  expect(log({ msg: "job_reported", time: 1_025, jobId: "j", attempt: 1, outcome })).toContain("25 ms");
  expect(log({ msg: "job_reported", time: 1_026, jobId: "k", attempt: 2, outcome })).toContain("attempt 2");
  expect(log({ msg: "job_reported", time: 1_030, jobId: "old", attempt: 1, outcome })).not.toContain("ms");
  expect(lines.read("no JSON")).toBeUndefined();
});
