import { test } from "vitest";
import type { Gpu } from "../../contract/agent/agent.ts";
import { HostCapacity, limitsOf } from "./host-capacity.ts";

const gpu = (isSimulated: boolean): Gpu => {
  return { index: 0, name: "NVIDIA L4", tier: "AMPERE_24", memoryMb: 24_000, isSimulated };
};
const size = { cpuMilli: 2_000, memoryMb: 8_000, diskMb: 5_000 };
const limits = { cpuMilli: 2_000, memoryMb: 8_000 };

test("a worker may use what Fleet has allocated to it", ({ expect }) => {
  expect(limitsOf({ gpuIndexes: [0], size }, [gpu(false)])).toEqual(limits);
  expect(limitsOf({ gpuIndexes: [], size }, [])).toEqual(limits);
});

test("a share of GPUs that are not there limits nobody, but a CPU instance keeps its size", ({ expect }) => {
  expect(limitsOf({ gpuIndexes: [0], size }, [gpu(true)])).toBeUndefined();
  expect(limitsOf({ gpuIndexes: [], size }, [gpu(true)])).toEqual(limits);
});

test("a worker that requested no size, or was placed before sizes were stored, has no limit", ({
  expect,
}) => {
  expect(limitsOf({ gpuIndexes: [], size: { ...size, cpuMilli: 0, memoryMb: 0 } }, [])).toBeUndefined();
  expect(limitsOf({ gpuIndexes: [0], size: null }, [gpu(false)])).toBeUndefined();
});

test("a worker without a stored size takes the share of its GPUs, which is nothing on a host without any", ({
  expect,
}) => {
  const host = {
    ...{ hostId: "h", name: "h", cpuCount: 8, memoryMb: 32_000, diskMb: 100, diskFreeMb: 100 },
    ...{ isCordoned: false, isDrained: false },
  };
  const withTwo = { ...host, gpus: [gpu(false), { ...gpu(false), index: 1 }] };
  const freeBeside = { cpuMilli: 4_000, memoryMb: 16_000 };
  expect(new HostCapacity(withTwo, [{ gpuIndexes: [1], size: null }]).free).toMatchObject(freeBeside);
  const withNone = new HostCapacity({ ...host, gpus: [] }, [{ gpuIndexes: [], size: null }]);
  expect(withNone.free).toEqual(withNone.total);
});
