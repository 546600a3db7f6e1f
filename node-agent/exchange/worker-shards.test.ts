import { test } from "vitest";
import { WorkerShards } from "./worker-shards.ts";

const ENDPOINT = "e1";
const [FIRST, SECOND] = [0, 1].map((shard) => ({ endpointId: ENDPOINT, shard })) as [
  { endpointId: string; shard: number },
  { endpointId: string; shard: number },
];

function start({ jobs = [] as string[], offered = [] as number[] } = {}) {
  const shards = new WorkerShards({
    isOffered: ({ shard }) => offered.includes(shard),
    jobsOf: () => jobs,
  });
  const learn = (number: number, workers: [string, number][]) =>
    shards.learn(ENDPOINT, { number, count: 2, workers });
  return { shards, learn, jobs, offered };
}

const jobOf = (shard: number) => `00000000-0000-0000-0000-000000000000-s${shard}`;

test("a worker serves the first object until the edge says otherwise", ({ expect }) => {
  const { shards, learn } = start();
  expect(shards.numberOf(ENDPOINT)).toBe(0);
  expect([FIRST, SECOND].map((ref) => shards.serves("w", ref))).toEqual([true, false]);
  expect(learn(7, [["w", 1]])).toEqual([SECOND]); // this process has not known it
  expect(learn(7, [["w", 1]])).toEqual([]);
  expect(shards.numberOf(ENDPOINT)).toBe(7);
  expect([FIRST, SECOND].map((ref) => shards.serves("w", ref))).toEqual([false, false]); // it is on its way
  expect(shards.isServed(SECOND, ["w"])).toBe(true);
  expect(shards.move(ENDPOINT, () => ["w"])).toEqual([SECOND]);
  expect([FIRST, SECOND].map((ref) => shards.serves("w", ref))).toEqual([false, true]);
});

test("a worker does not move while its slots are offered, or jobs of another object are not over", ({
  expect,
}) => {
  const { shards, learn, jobs, offered } = start({ jobs: [jobOf(0)], offered: [0] });
  learn(1, [["w", 1]]);
  expect(shards.move(ENDPOINT, () => ["w"])).toEqual([]);
  offered.pop();
  expect(shards.move(ENDPOINT, () => ["w"])).toEqual([]);
  jobs.pop();
  expect(shards.move(ENDPOINT, () => ["w"])).toEqual([SECOND]);
  jobs.push(jobOf(1));
  expect(shards.serves("w", SECOND)).toBe(true);
  learn(2, []);
  expect(shards.move(ENDPOINT, () => ["w"])).toEqual([]);
  jobs.pop();
  expect(shards.move(ENDPOINT, () => ["w"])).toEqual([FIRST]);
});

test("a worker with jobs that an earlier process got offers no slots to another object", ({ expect }) => {
  const { shards } = start({ jobs: [jobOf(1)] });
  expect(shards.serves("w", FIRST)).toBe(false);
});

test("of workers that are gone nothing is left", ({ expect }) => {
  const { shards, learn } = start();
  learn(1, [["w", 1]]);
  shards.move(ENDPOINT, () => ["w"]);
  shards.forgetAllBut(() => false);
  learn(2, []);
  expect(shards.serves("w", FIRST)).toBe(true);
});
