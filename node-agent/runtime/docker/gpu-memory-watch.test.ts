import { expect, test } from "vitest";
import { allowedMb, containerOfCgroups, overGpuMemory } from "./gpu-memory-watch.ts";

const ID = "3f2a9c".padEnd(64, "0");

test.for([
  ["version 2 with systemd", `0::/system.slice/docker-${ID}.scope\n`],
  ["version 2 without", `0::/docker/${ID}\n`],
  ["version 1", `12:memory:/docker/${ID}\n11:cpu,cpuacct:/docker/${ID}\n`],
  ["a parent of its own", `0::/edgerun.slice/docker-${ID}.scope/init\n`],
])("the container of a process is in its cgroups: %s", ([, text = ""]) => {
  expect(containerOfCgroups(text)).toBe(ID);
});

test.for(["", "0::/user.slice/user-1000.slice\n", `0::/docker/${ID.slice(1)}\n`])(
  "a process elsewhere is in none: %s",
  (text) => {
    expect(containerOfCgroups(text)).toBeUndefined();
  },
);

test("a twentieth more than declared is allowed, and 256 MiB at least", () => {
  expect(allowedMb(1_000)).toBe(1_256);
  expect(allowedMb(20_000)).toBe(21_000);
});

test("the reason has what was declared as it was declared", () => {
  expect(overGpuMemory(9_000, 3_814)).toBe(
    "was ended: it used 9.4 GB of GPU memory, gpuMemoryGb is 4 (raise it, or let the worker take less)",
  );
});
