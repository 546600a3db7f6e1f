import { fc, test as property } from "@fast-check/vitest";
import { describe, test } from "vitest";
import {
  isFullForChunks,
  jobsToRun,
  findExceeded,
  turnsUntilFull,
  OBJECT_DATABASE_MAX_BYTES,
  RUNNING_JOB_RESERVE_BYTES,
} from "./endpoint-storage.ts";

const GB = 1_000_000_000;
const use = (databaseBytes: number, storedBytes = 0, runningJobs = 0) => ({
  databaseBytes,
  storedBytes,
  runningJobs,
});

describe("a submission", () => {
  test("is rejected when it would exceed the limit, and not before", ({ expect }) => {
    expect(findExceeded(use(1 * GB, 8 * GB), GB, 10 * GB)).toBeUndefined();
    expect(findExceeded(use(1 * GB, 8 * GB), GB + 1, 10 * GB)).toEqual({
      measure: "storage",
      used: 9 * GB,
      limit: 10 * GB,
    });
  });

  test("is rejected when half of the platform's limit of a database is used", ({ expect }) => {
    const half = OBJECT_DATABASE_MAX_BYTES / 2;
    expect(findExceeded(use(half), 1, 50 * GB)).toBeUndefined();
    expect(findExceeded(use(half + 1), 1, 50 * GB)).toEqual({
      measure: "database",
      used: half + 1,
      limit: half,
    });
  });
});

describe("queued jobs", () => {
  test("are dispatched until stored data exceeds the limit by half", ({ expect }) => {
    expect(jobsToRun(use(0, 15 * GB), 10 * GB)).toBeGreaterThan(0);
    expect(jobsToRun(use(0, 15 * GB + 1), 10 * GB)).toBe(0);
  });

  test("are dispatched as far as the database has space for all results", ({ expect }) => {
    const freeFor = 3;
    const databaseBytes = OBJECT_DATABASE_MAX_BYTES * 0.75 - freeFor * RUNNING_JOB_RESERVE_BYTES;
    expect(jobsToRun(use(databaseBytes, 0, 1), 50 * GB)).toBe(freeFor - 1);
    expect(jobsToRun(use(databaseBytes, 0, freeFor), 50 * GB)).toBe(0);
    expect(jobsToRun(use(databaseBytes, 0, 10 * freeFor), 50 * GB)).toBe(0);
  });
});

test("chunks are kept longest, and not into the last tenth", ({ expect }) => {
  const nine = OBJECT_DATABASE_MAX_BYTES * 0.9;
  expect(isFullForChunks(use(nine), 50 * GB)).toBe(false);
  expect(isFullForChunks(use(nine + 1), 50 * GB)).toBe(true);
});

property.prop([fc.nat(20 * GB), fc.nat(60 * GB), fc.nat(100_000), fc.integer({ min: 1, max: 200 * GB })])(
  "running jobs never bring the database to what the platform gives it",
  (databaseBytes, storedBytes, runningJobs, limitBytes) => {
    const jobs = jobsToRun(use(databaseBytes, storedBytes, runningJobs), limitBytes);
    const then = databaseBytes + (runningJobs + jobs) * RUNNING_JOB_RESERVE_BYTES;
    return jobs === 0 || then <= OBJECT_DATABASE_MAX_BYTES * 0.75;
  },
);

test("the size of the database is read in each turn when it is nearly full", ({ expect }) => {
  expect(turnsUntilFull(0, 50 * GB)).toBeGreaterThan(10);
  expect(turnsUntilFull(5 * GB, 50 * GB)).toBe(1);
  expect(turnsUntilFull(9 * GB, 50 * GB)).toBe(1);
  expect(turnsUntilFull(0, 1_000_000)).toBe(1);
});
