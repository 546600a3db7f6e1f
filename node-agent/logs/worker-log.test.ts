import { test } from "vitest";
import { Masks, SoleJobs } from "./worker-log.ts";

test("values are masked wherever they stand, also earlier ones", ({ expect }) => {
  const masks = new Masks();
  masks.add(["old-password"]);
  masks.add(["new-password"]);
  expect(masks.apply("a new-password, old-password, new-password")).toBe("a [secret], [secret], [secret]");
});

test("short values are left, and a value within a longer one shows nothing of it", ({ expect }) => {
  const masks = new Masks();
  masks.add(["1234567", "password", "password-and-more"]);
  expect(masks.apply("1234567 password-and-more")).toBe("1234567 [secret]");
});

test("of a value with several lines each line is masked", ({ expect }) => {
  const masks = new Masks();
  masks.add(["-----BEGIN KEY-----\nMIIBVgIBADANBgkq\n-----END KEY-----"]);
  expect(masks.apply("MIIBVgIBADANBgkq")).toBe("[secret]");
});

const MS = 1_000;

test("a line is of the only job that was there when it was printed", ({ expect }) => {
  const jobs = new SoleJobs();
  jobs.record(["a"], 10 * MS);
  jobs.record([], 20 * MS);
  jobs.record(["b"], 30 * MS);
  jobs.record(["b", "c"], 40 * MS);
  jobs.record(["c"], 50 * MS);
  const found = [5, 15, 35, 45, 55].map((at) => jobs.during(at * MS, at * MS));
  expect(found).toEqual([undefined, "a", "b", undefined, "c"]);
});

test("a line that is stamped after its job is of the job before, if that is not long ago", ({ expect }) => {
  const jobs = new SoleJobs();
  jobs.record(["a"], 10);
  jobs.record([], 20);
  jobs.record(["b", "c"], 10_000_000);
  jobs.record([], 10_000_010);
  expect(jobs.during(25, 25)).toBe("a");
  expect(jobs.during(1_999_999, 1_999_999)).toBe("a");
  expect(jobs.during(5_000_000, 5_000_000)).toBeUndefined();
  expect(jobs.during(10_000_020, 10_000_020)).toBeUndefined();
});

test("where the time is not known exactly, only one job may have been there in all of it", ({ expect }) => {
  const jobs = new SoleJobs();
  jobs.record(["a"], 10 * MS);
  jobs.record([], 20 * MS);
  jobs.record(["b"], 30 * MS);
  const during = (from: number, to: number) => jobs.during(from * MS, to * MS);
  expect(during(12, 25)).toBe("a");
  expect(during(5, 12)).toBe("a");
  expect(during(15, 35)).toBeUndefined();
  expect(during(22, 28)).toBe("a");
});

test("of two jobs that followed each other within a millisecond neither gets a line of that time", ({
  expect,
}) => {
  const jobs = new SoleJobs();
  jobs.record(["a", "b"], 10 * MS);
  jobs.record(["b"], 20 * MS);
  expect(jobs.during(20 * MS + 300, 20 * MS + 300)).toBeUndefined();
  expect(jobs.during(22 * MS, 22 * MS)).toBe("b");
});

test("where it is not known which jobs there were, a line has none", ({ expect }) => {
  const jobs = new SoleJobs();
  jobs.record(null, 10 * MS);
  jobs.record(null, 15 * MS);
  jobs.record(["a"], 20 * MS);
  const during = (from: number, to = from) => jobs.during(from * MS, to * MS);
  expect([during(5), during(12), during(17), during(19, 22), during(20), during(22)]).toEqual([
    ...Array.from({ length: 5 }, () => undefined),
    "a",
  ]);
});

test("where the clock was set, no job is known of the times before, and of those it shows again", ({
  expect,
}) => {
  const setBy = (change: number): (string | undefined)[] => {
    const jobs = new SoleJobs();
    jobs.noticeClock(10 * MS, 0);
    jobs.record(["a"], 10 * MS);
    jobs.noticeClock(20_000 * MS, 19_990 * MS);
    const now = 20_010 * MS + change;
    jobs.noticeClock(now, 20_000 * MS);
    jobs.noticeClock(now + 10 * MS, 20_010 * MS);
    return [15 * MS, now - 2 * MS, now + 5 * MS].map((at) => jobs.during(at, at));
  };
  expect(setBy(0)).toEqual(["a", "a", "a"]);
  expect(setBy(-20 * MS)).toEqual([undefined, undefined, "a"]);
  expect(setBy(-15_000 * MS)).toEqual([undefined, undefined, "a"]);
  expect(setBy(15_000 * MS)).toEqual([undefined, undefined, "a"]);
});

test("the time before last thousand changes is forgotten", ({ expect }) => {
  const jobs = new SoleJobs();
  for (let number = 1; number <= 5_000; number += 1) jobs.record([`job ${number}`], number * MS);
  expect(jobs.during(5_002 * MS, 5_002 * MS)).toBe("job 5000");
  expect(jobs.during(1_500, 1_500)).toBeUndefined();
});
