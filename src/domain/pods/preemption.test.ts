import * as fc from "fast-check";
import { describe, test } from "vitest";
import { HostCapacity, type CandidateHost } from "../placement/host-capacity.ts";
import type { Requirement } from "../placement/host-fit.ts";
import { findPlaceOn } from "../placement/host-pool.ts";
import { findPreemption, type InterruptiblePod, type SharedHost } from "./preemption.ts";

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

/** A full host: each pod as bid, since when, and how many GPUs. */
function fullOf(hostId: string, pods: readonly (readonly [bid: number, since: number, gpus?: number])[]) {
  let index = 0;
  const interruptible = pods.map(([bidPerGpu, since, gpus = 1], number): InterruptiblePod => {
    const gpuIndexes = Array.from({ length: gpus }, () => index++);
    const size = { cpuMilli: gpus * 1_000, memoryMb: gpus * 1_000, diskMb: 0 };
    return { podId: `${hostId}${number}`, bidPerGpu, since, gpuIndexes, size };
  });
  return { host: hostOf(hostId, index), staying: [], interruptible } satisfies SharedHost;
}

const needs = (gpuCount: number): Requirement => ({
  gpuTiers: ["ADA_24"],
  excludedGpuModels: [],
  gpuCount,
  locations: [],
});

describe("who gives way", () => {
  test.for<[string, number, readonly SharedHost[], readonly string[] | undefined]>([
    [
      "the lowest bid",
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
      "of equal bids the youngest",
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
      "cheap ones before one of a higher bid",
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
      "of one bid as few as suffice",
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
      "nobody where nothing would fit",
      3,
      [
        fullOf("a", [
          [1, 1],
          [1, 1],
        ]),
      ],
      undefined,
    ],
  ])("%s", ([, gpuCount, hosts, podIds], { expect }) => {
    expect(findPreemption(needs(gpuCount), hosts)?.pods.map(({ podId }) => podId)).toEqual(podIds);
  });

  test("nobody where capacity is being freed", ({ expect }) => {
    const freed = { host: hostOf("b", 1), staying: [], interruptible: [] };
    const found = findPreemption(needs(1), [fullOf("a", [[1, 1]]), freed]);
    expect(found).toMatchObject({ pods: [], place: { hostId: "b" } });
  });
});

const pod = fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(5), fc.integer({ min: 1, max: 3 }));

test("each pod that gives way is needed, and no set of lower bids would have done", ({ expect }) => {
  fc.assert(
    fc.property(
      fc.array(fc.array(pod, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 4 }),
      (pods, gpuCount) => {
        const hosts = pods.map((each, index) => fullOf(`h${index}`, each));
        const fitsWithout = ({ host, interruptible }: SharedHost, leaving: readonly InterruptiblePod[]) => {
          const others = interruptible.filter((one) => !leaving.includes(one));
          return findPlaceOn(new HostCapacity(host, others), needs(gpuCount)) !== undefined;
        };
        const found = findPreemption(needs(gpuCount), hosts);
        if (!found) {
          expect(hosts.some((host) => fitsWithout(host, host.interruptible))).toBe(false);
          return;
        }
        const chosen = hosts.find(({ host }) => host.hostId === found.place.hostId);
        if (!chosen) throw new Error("The place is on no host.");
        expect(fitsWithout(chosen, found.pods)).toBe(true);
        for (const one of found.pods)
          expect(
            fitsWithout(
              chosen,
              found.pods.filter((other) => other !== one),
            ),
          ).toBe(false);
        const highest = Math.max(...found.pods.map(({ bidPerGpu }) => bidPerGpu));
        for (const host of hosts) {
          const lower = host.interruptible.filter(({ bidPerGpu }) => bidPerGpu < highest);
          expect(fitsWithout(host, lower)).toBe(false);
        }
      },
    ),
  );
});

test("what is promised to others is left to them", ({ expect }) => {
  const host = fullOf("a", [[1, 1]]);
  const promised = { gpuIndexes: [0], size: SIZE };
  expect(findPreemption(needs(1), [{ ...host, staying: [promised] }])).toBeUndefined();
});
