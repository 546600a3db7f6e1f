import { describe, test } from "vitest";
import type { PodConfig } from "../../contract/pod.ts";
import { changePod, dueChange, newPod, nextTimeOf, type PodState } from "./pod-life.ts";

const config: PodConfig = {
  podId: "p",
  accountId: "a",
  name: "p",
  version: 1,
  gpuModels: [],
  gpuCount: 0,
  locations: [],
  minMemoryMb: 0,
  minCpuMilli: 0,
  volumeInGb: 0,
  needsPublicAddress: false,
  isInterruptible: false,
  bidPerGpu: 0,
  stopAt: null,
  terminateAt: null,
};
const newer = { ...config, version: 2 };
const running = newPod(config, 1);
const stopped = changePod(running, { kind: "stop", reason: "stopped" }, 2);

describe("the version", () => {
  test.for<[string, PodState, Parameters<typeof changePod>[1], number]>([
    ["grows with a restart", running, { kind: "restart", config: newer }, 2],
    ["grows with a restart of one that is stopped", stopped, { kind: "restart", config }, 2],
    ["grows with a start", stopped, { kind: "start", config }, 2],
    ["stays with the start of one that runs", running, { kind: "start", config }, 1],
    ["stays with an edit of its name", running, { kind: "edit", config: { ...config, name: "q" } }, 1],
    ["grows with an edit of what it is made of", running, { kind: "edit", config: newer }, 2],
    [
      "is at least that of the configuration",
      stopped,
      { kind: "start", config: { ...config, version: 7 } },
      7,
    ],
    ["grows with a move", running, { kind: "moved" }, 2],
    ["stays with a stop", running, { kind: "stop", reason: "preempted" }, 1],
  ])("%s", ([, pod, event, version], { expect }) => {
    expect(changePod(pod, event, 9).version).toBe(version);
  });
});

describe("a change", () => {
  test("that changes nothing gives the same pod", ({ expect }) => {
    const later = { ...running, config: { ...config, version: 3 } };
    expect(changePod(running, { kind: "start", config }, 9)).toBe(running);
    expect(changePod(stopped, { kind: "stop", reason: "preempted" }, 9)).toBe(stopped);
    expect(changePod(later, { kind: "edit", config }, 9)).toBe(later);
    expect(changePod(later, { kind: "restart", config }, 9)).toBe(later);
    const restarted = changePod(running, { kind: "restart", config: newer }, 9);
    expect(changePod(restarted, { kind: "restart", config: newer }, 9)).toBe(restarted);
  });

  test("of the desired state notes when and why", ({ expect }) => {
    expect(stopped).toMatchObject({ desired: "stopped", stopReason: "stopped", changedAt: 2 });
    const again = changePod(stopped, { kind: "restart", config }, 3);
    expect(again).toMatchObject({ desired: "running", stopReason: null, changedAt: 3, createdAt: 1 });
    const third = { ...config, version: 3 };
    expect(changePod(again, { kind: "restart", config: third }, 4)).toMatchObject({
      changedAt: 3,
      version: 3,
    });
    const edited = changePod(stopped, { kind: "edit", config: newer }, 5);
    expect(edited).toMatchObject({ desired: "stopped", changedAt: 2 });
  });
});

test("the host of its volume is known from the first place until the volume is gone", ({ expect }) => {
  const withVolume = newPod({ ...config, volumeInGb: 5 }, 1);
  const placed = changePod(withVolume, { kind: "placed", hostId: "h" }, 2);
  expect(placed.volumeHostId).toBe("h");
  expect(changePod(running, { kind: "placed", hostId: "h" }, 2).volumeHostId).toBeNull();
  expect(changePod(placed, { kind: "volume_lost" }, 3)).toMatchObject({
    volumeHostId: null,
    desired: "stopped",
    stopReason: "host_removed",
    changedAt: 3,
  });
  const without = { kind: "edit", config: { ...config, version: 2 } } as const;
  expect(changePod(placed, without, 3)).toMatchObject({ volumeHostId: null, volumeNumber: 1 });
});

test("time stops a pod once, and terminates it in any state", ({ expect }) => {
  const pod = newPod({ ...config, stopAt: 10, terminateAt: 20 }, 1);
  expect([nextTimeOf(pod), dueChange(pod, 9), dueChange(pod, 10)]).toEqual([10, null, "stop"]);
  const ended = changePod(pod, { kind: "stop", reason: "stop_time" }, 10);
  const again = changePod(ended, { kind: "start", config: pod.config }, 12);
  expect([nextTimeOf(ended), nextTimeOf(again), nextTimeOf(running)]).toEqual([20, 20, null]);
  expect([dueChange(again, 19), dueChange(again, 20), dueChange(ended, 20)]).toEqual([
    null,
    "terminate",
    "terminate",
  ]);
});
