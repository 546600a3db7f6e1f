import fc from "fast-check";
import { describe, test } from "vitest";
import type { CandidateHost } from "./host-capacity.ts";
import type { Requirement } from "./host-fit.ts";
import { HostContents } from "./host-contents.ts";
import { findPlaceOn, HostPool } from "./host-pool.ts";

const NEEDED = ["image:team/app:1", "files:f", "model:org/a", "model:org/b"] as const;
const WORKER: Requirement = {
  gpuTiers: ["ADA_24"],
  excludedGpuModels: [],
  gpuCount: 1,
  locations: [],
  contents: NEEDED,
};

function host(hostId: string, gpuCount: number): CandidateHost {
  const gpus = Array.from({ length: gpuCount }, (_, index) => {
    return { index, name: "L4", tier: "ADA_24", memoryMb: 1, isSimulated: false };
  });
  const size = { cpuCount: 16, memoryMb: 64_000, diskMb: 500_000, diskFreeMb: 500_000 };
  return { hostId, name: hostId, gpus, ...size, isCordoned: false, isDrained: false };
}

/** Hosts by name: how many GPUs, and what of the needed they have. */
function poolOf(
  hosts: Readonly<Record<string, readonly [gpus: number, contents: readonly string[]]>>,
): HostPool {
  const pool = new HostPool();
  for (const [hostId, [gpus, contents]] of Object.entries(hosts)) {
    pool.upsert(host(hostId, gpus), []);
    pool.contents.record(hostId, contents);
  }
  return pool;
}

/** What the lack of an image counts. */
const IMAGE_LACK = new HostContents().lackOn("unknown", NEEDED.slice(0, 1));

describe("a worker", () => {
  test.for<[string, Parameters<typeof poolOf>[0], string]>([
    ["goes where all is that it needs", { full: [1, NEEDED], large: [8, NEEDED.slice(0, 2)] }, "full"],
    [
      "goes where the image is rather than the rest",
      { rest: [4, NEEDED.slice(1)], image: [1, NEEDED.slice(0, 1)] },
      "image",
    ],
    ["goes to the emptiest of those", { one: [1, NEEDED], two: [2, NEEDED], none: [8, []] }, "two"],
    [
      "goes to the emptiest host where none has any of it",
      { one: [1, []], two: [2, ["image:other:1"]] },
      "two",
    ],
  ])("%s", ([, hosts, chosen], { expect }) => {
    expect(poolOf(hosts).allocate(WORKER)?.hostId).toBe(chosen);
  });

  test("goes elsewhere when the host with its image is full", ({ expect }) => {
    const pool = poolOf({ full: [1, NEEDED], empty: [1, []] });
    expect([1, 2, 3].map(() => pool.allocate(WORKER)?.hostId)).toEqual(["full", "empty", undefined]);
  });

  test("evicts no standby worker for the sake of an image", ({ expect }) => {
    const pool = poolOf({ empty: [1, []] });
    const standby = { gpuIndexes: [0], size: null, standbyAt: 1 };
    pool.upsert(host("frozen", 1), [standby]);
    pool.contents.record("frozen", NEEDED);
    expect([1, 2].map(() => pool.allocate(WORKER)?.hostId)).toEqual(["empty", "frozen"]);
  });

  test.for<[string, readonly string[], readonly string[], readonly string[]]>([
    ["has its image, though one has its model", NEEDED.slice(0, 1), NEEDED.slice(2, 3), []],
    ["has all, though others have its image", NEEDED, [], NEEDED.slice(0, 1)],
    ["has all, though another one has its model", NEEDED, NEEDED.slice(2, 3), []],
  ])("goes to the one small host that %s, and many are emptier", ([, own, other, others], { expect }) => {
    const empty = Array.from({ length: 40 }, (_, index) => [`h${index}`, [8, others]] as const);
    const pool = poolOf({ ...Object.fromEntries(empty), other: [8, other], own: [1, own] });
    expect(pool.allocate(WORKER)?.hostId).toBe("own");
  });

  test("goes to no host that lacks more than another one with a place", ({ expect }) => {
    const contents = fc.subarray([...NEEDED, "image:other:1"]);
    const hosts = fc.array(fc.tuple(fc.nat(3), contents), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(hosts, fc.nat(20), (list, before) => {
        const pool = poolOf(Object.fromEntries(list.map((one, index) => [`h${index}`, one])));
        for (let count = 0; count < before; count += 1) pool.allocate({ ...WORKER, contents: [] });
        const free = pool.hosts.filter((capacity) => findPlaceOn(capacity, WORKER));
        const least = Math.min(...free.map((capacity) => pool.contents.lackOn(capacity.host.hostId, NEEDED)));
        const place = pool.allocate(WORKER);
        expect(place !== undefined).toBe(free.length > 0);
        if (!place) return;
        const lack = pool.contents.lackOn(place.hostId, NEEDED);
        if (free.length <= 16 || least === 0) expect(lack).toBe(least);
        expect(lack >= IMAGE_LACK).toBe(least >= IMAGE_LACK); // the image, before all else
      }),
    );
  });
});

test("what hosts have no more counts no more", ({ expect }) => {
  const contents = new HostContents();
  const classesOf = (hostId: string) => contents.classesFor(NEEDED).map((isIn) => isIn(hostId));
  contents.record("a", NEEDED);
  contents.record("b", NEEDED.slice(0, 1));
  expect([classesOf("a"), classesOf("b")]).toEqual([
    [true, false, false],
    [false, true, false],
  ]);
  contents.record("a", []);
  expect([classesOf("a"), classesOf("b")]).toEqual([
    [false, true],
    [true, false],
  ]);
  contents.forget("b");
  expect([classesOf("a"), classesOf("b")]).toEqual([[], []]);
  expect(contents.lackOn("b", NEEDED)).toBe(contents.lackOn("unknown", NEEDED));
});
