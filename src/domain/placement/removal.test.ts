import * as fc from "fast-check";
import { describe, test } from "vitest";
import { HostCapacity, type CandidateHost } from "./host-capacity.ts";
import type { Requirement } from "./host-fit.ts";
import { findPlaceOn } from "./host-pool.ts";
import { findRemoval, type Removable, type OccupiedHost } from "./removal.ts";

const SIZE = { cpuMilli: 1_000, memoryMb: 1_000, diskMb: 0 };

function hostOf(hostId: string, gpuCount: number): CandidateHost {
  const gpu = { name: "card", tier: "ADA_24", memoryMb: 1, isSimulated: false };
  return {
    hostId,
    name: hostId,
    gpus: Array.from({ length: gpuCount }, (_, index) => ({ ...gpu, index })),
    cpuCount: gpuCount,
    memoryMb: gpuCount * 1_000,
    diskMb: 1_000,
    diskFreeMb: 1_000,
    isCordoned: false,
    isDrained: false,
  };
}

type Members = readonly (readonly [cost: number, since: number, gpus?: number])[];

/** A full host: each of what it has as cost, since when, and how many GPUs. */
function fullOf(hostId: string, members: Members): OccupiedHost<Removable> {
  let index = 0;
  const removable = members.map(([cost, since, gpus = 1], number): Removable => {
    const gpuIndexes = Array.from({ length: gpus }, () => index++);
    const size = { cpuMilli: gpus * 1_000, memoryMb: gpus * 1_000, diskMb: 0 };
    return { id: `${hostId}${number}`, cost, age: -since, gpuIndexes, size };
  });
  return { host: hostOf(hostId, index), staying: [], removable };
}

const needs = (gpuCount: number): Requirement => ({
  gpuTiers: ["ADA_24"],
  excludedGpuModels: [],
  gpuCount,
  locations: [],
});

describe("what is removed", () => {
  test.for<[string, number, readonly OccupiedHost<Removable>[], readonly string[] | undefined]>([
    [
      "the lowest cost",
      1,
      [
        fullOf("a", [[3, 1]]),
        fullOf("b", [
          [2, 1],
          [1, 1],
        ]),
      ],
      ["b1"],
    ],
    [
      "of equal costs the youngest",
      1,
      [
        fullOf("a", [[1, 5]]),
        fullOf("b", [
          [1, 9],
          [1, 7],
        ]),
      ],
      ["b0"],
    ],
    [
      "those of low cost before one of a higher cost",
      2,
      [
        fullOf("a", [[3, 1, 2]]),
        fullOf("b", [
          [1, 1],
          [1, 2],
        ]),
      ],
      ["b1", "b0"],
    ],
    [
      "of one cost as few as suffice",
      2,
      [
        fullOf("a", [
          [1, 9],
          [1, 1, 2],
        ]),
      ],
      ["a1"],
    ],
    [
      "nothing where nothing would fit",
      3,
      [
        fullOf("a", [
          [1, 1],
          [1, 1],
        ]),
      ],
      undefined,
    ],
  ])("%s", ([, gpuCount, hosts, ids], { expect }) => {
    expect(findRemoval(needs(gpuCount), hosts)?.removed.map(({ id }) => id)).toEqual(ids);
  });

  test("nothing where capacity is being freed", ({ expect }) => {
    const freed = { host: hostOf("b", 1), staying: [], removable: [] };
    const found = findRemoval(needs(1), [fullOf("a", [[1, 1]]), freed]);
    expect(found).toMatchObject({ removed: [], place: { hostId: "b" } });
  });
});

const member = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(5), fc.integer({ min: 1, max: 3 }));

test("each that is removed is needed, and no set of lower cost would have done", ({ expect }) => {
  fc.assert(
    fc.property(
      fc.array(fc.array(member, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 4 }),
      (members, gpuCount) => {
        const hosts = members.map((each, index) => fullOf(`h${index}`, each));
        const fitsWithout = ({ host, removable }: OccupiedHost<Removable>, leaving: readonly Removable[]) => {
          const others = removable.filter((one) => !leaving.includes(one));
          return findPlaceOn(new HostCapacity(host, others), needs(gpuCount)) !== undefined;
        };
        const found = findRemoval(needs(gpuCount), hosts);
        if (!found) {
          expect(hosts.some((host) => fitsWithout(host, host.removable))).toBe(false);
          return;
        }
        const chosen = hosts.find(({ host }) => host.hostId === found.place.hostId);
        if (!chosen) throw new Error("The place is on no host.");
        expect(fitsWithout(chosen, found.removed)).toBe(true);
        for (const one of found.removed)
          expect(
            fitsWithout(
              chosen,
              found.removed.filter((other) => other !== one),
            ),
          ).toBe(false);
        const highest = Math.max(...found.removed.map(({ cost }) => cost));
        for (const host of hosts) {
          const lower = host.removable.filter(({ cost }) => cost < highest);
          expect(fitsWithout(host, lower)).toBe(false);
        }
      },
    ),
  );
});

test("what is promised to others is left to them", ({ expect }) => {
  const host = fullOf("a", [[1, 1]]);
  const promised = { gpuIndexes: [0], size: SIZE };
  expect(findRemoval(needs(1), [{ ...host, staying: [promised] }])).toBeUndefined();
});
