import { test } from "vitest";
import { readCpuInstance } from "./cpu-flavors.ts";

test("an instance is its family, its vCPUs and the memory that comes with them", ({ expect }) => {
  const reading = readCpuInstance("cpu5c-4-8");
  expect(reading).toMatchObject({
    kind: "instance",
    instance: { flavor: { id: "cpu5c" }, vcpus: 4, memoryGb: 8 },
  });
  expect(readCpuInstance("cpu3m-1-8").kind).toBe("instance");
});

test.for([
  ["", "<family>-<vcpu>-<memory>"],
  ["cpu5c", "<family>-<vcpu>-<memory>"],
  ["cpu5c-0-0", "<family>-<vcpu>-<memory>"],
  ["cpu7c-1-2", "'cpu7c'"],
  ["cpu5c-33-66", " 32 "],
  ["cpu5c-4-4", "cpu5c-4-8"],
] as const)("'%s' is refused, with what would be right", ([id, reason], { expect }) => {
  expect(readCpuInstance(id)).toEqual({ kind: "refused", reason: expect.stringContaining(reason) });
});
