import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { inventorySchema } from "../../src/contract/agent/agent.ts";
import { GPU_TIER_NAMES } from "../../src/catalog/gpu-cards.ts";
import { Volumes } from "../disk/volumes.ts";
import { memoryForWorkersMb, readInventory } from "./inventory.ts";

const diskDirectory = join(tmpdir(), "edgerun-not", "there-yet");

test("a simulated inventory has four GPUs of every tier, each with its own index", async ({ expect }) => {
  const inventory = await readInventory({ runtimeKind: "process", simulateGpus: true, diskDirectory });
  expect(inventorySchema.parse(inventory)).toEqual(inventory);
  expect(inventory.gpus.map((gpu) => gpu.index)).toEqual(inventory.gpus.map((_, position) => position));
  expect(inventory.gpus.every((gpu) => gpu.isSimulated)).toBe(true);
  for (const tier of GPU_TIER_NAMES) {
    expect(inventory.gpus.filter((gpu) => gpu.tier === tier)).toHaveLength(4);
  }
});

test("plain processes with simulated GPUs have disk enough, containers what there is", async ({ expect }) => {
  const read = async (runtimeKind: "process" | "docker") =>
    (await readInventory({ runtimeKind, simulateGpus: true, diskDirectory })).diskFreeMb;
  expect(await read("process")).toBe(10_000_000);
  expect(await read("docker")).toBeLessThan(await read("process"));
});

test("a host says where it is, if it was told", async ({ expect }) => {
  const request = { runtimeKind: "process", simulateGpus: true, diskDirectory } as const;
  expect(await readInventory(request)).not.toHaveProperty("dataCenterId");
  const inventory = await readInventory({ ...request, dataCenterId: "US-KS-2" });
  expect(inventorySchema.parse(inventory).dataCenterId).toBe("US-KS-2");
});

test("an inventory lists what the machine has, also before the state directory exists", async ({
  expect,
}) => {
  const inventory = await readInventory({ runtimeKind: "docker", simulateGpus: false, diskDirectory });
  expect(inventorySchema.parse(inventory)).toEqual(inventory);
  expect(inventory.runtime).toBe("docker");
  expect(inventory.gpus.every((gpu) => !gpu.isSimulated)).toBe(true);
  expect(inventory.cpuCount).toBeGreaterThan(0);
  expect(inventory.memoryMb).toBeGreaterThan(0);
  expect(inventory.diskFreeMb).toBeGreaterThan(0);
});

test("a host reports which volumes it has, unless it makes any", async ({ expect }) => {
  const request = { runtimeKind: "docker", simulateGpus: true, diskDirectory } as const;
  const volumes = (createsMissing: boolean) => new Volumes({ directory: diskDirectory, createsMissing });
  expect(await readInventory({ ...request, volumes: volumes(false) })).toMatchObject({
    networkVolumeIds: [],
  });
  expect(await readInventory({ ...request, volumes: volumes(true) })).not.toHaveProperty("networkVolumeIds");
});

test("a share of the memory, never little and never much, stays with the host", ({ expect }) => {
  expect(memoryForWorkersMb(4_000)).toBe(3_488);
  expect(memoryForWorkersMb(64_000)).toBe(60_800);
  expect(memoryForWorkersMb(1_000_000)).toBe(991_808);
  expect(memoryForWorkersMb(100)).toBe(0);
});
