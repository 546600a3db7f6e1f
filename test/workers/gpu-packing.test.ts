/** Workers that declare the GPU memory they need and share cards. */
import { describe } from "vitest";
import type { Inventory } from "../../src/contract/agent/agent.ts";
import { type FleetHarness, testInTime as test, type TestHost } from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";

const MANY = `workersMax: 12, idleTimeout: 3600, scalerType: "REQUEST_COUNT", scalerValue: 1`;

/** A host with cards of 16 GB. */
async function hostWith(
  fleet: FleetHarness,
  cards: number,
  more: Partial<Inventory> = {},
): Promise<TestHost> {
  const host = await fleet.host({ gpus: [] });
  const gpus = Array.from({ length: cards }, (_, index) => ({
    ...{ index, name: "NVIDIA RTX A4000", tier: "AMPERE_16", memoryMb: 16_376, isSimulated: false },
  }));
  const amounts = { cpuCount: 32, memoryMb: 128_000, diskFreeMb: 2_000_000 };
  host.inventory = { ...host.inventory, ...amounts, gpus, ...more };
  await host.sync();
  return host;
}

/** What the workers of a host declare of each card, once there are so many. */
async function untilDeclared(host: TestHost, count: number): Promise<ReadonlyMap<number, number>> {
  const look = async () => {
    const all = await host.sync();
    return all.length === count ? all : notYet(all.length);
  };
  const assignments = await until(look, `the host has ${count} workers`);
  const groups = Map.groupBy(assignments, ({ gpuIndexes: [index = -1] }) => index);
  return new Map(
    [...groups].map(([index, own]) => [
      index,
      own.reduce((sum, { gpuMemoryMb = Infinity }) => sum + gpuMemoryMb, 0),
    ]),
  );
}

describe("workers that declare their GPU memory", () => {
  test("run on two cards, twelve of them, and the thirteenth says what is missing", async ({
    expect,
    fleet,
  }) => {
    const host = await hostWith(fleet, 2);
    const small = await fleet.endpoint(`${MANY}, gpuMemoryGb: 2`);
    await small.submitMany(12);
    const declared = await untilDeclared(host, 12);
    expect(new Set(declared.keys())).toEqual(new Set([0, 1]));
    for (const memoryMb of declared.values()) expect(memoryMb).toBeLessThanOrEqual(16_376);
    const large = await fleet.endpoint(`${MANY}, gpuMemoryGb: 12`);
    const jobId = await large.submit();
    const look = async () => {
      await host.sync();
      const queue = (await large.status(jobId))["queue"] as {
        readonly reason: string;
        readonly detail: string;
      };
      return queue.reason === "waiting_for_share" ? queue : notYet(queue);
    };
    const { detail } = await until(look, "the job waits for a part of a card");
    expect(detail).toContain("no GPU has 12 GB of its memory left for another worker; the most is");
  });

  test("never share a card with a worker that declares none", async ({ expect, fleet }) => {
    const host = await hostWith(fleet, 2);
    const own = await fleet.endpoint(`${MANY}, workersMin: 1`);
    await untilDeclared(host, 1);
    const small = await fleet.endpoint(`${MANY}, gpuMemoryGb: 2`);
    await small.submitMany(3);
    const assignments = await host.sync().then(() => untilDeclared(host, 4));
    expect([...assignments.values()].toSorted((a, b) => a - b)).toEqual([3 * 1_907, Infinity]);
    await own.submit();
  });

  test("pay for their part of the card", async ({ expect, fleet }) => {
    const host = await hostWith(fleet, 1);
    await fleet.updateHost(host, "price: { perGpuHour: 4 }");
    const small = await fleet.endpoint(`${MANY}, workersMin: 1, gpuMemoryGb: 4`);
    await untilDeclared(host, 1);
    const query = `{ myself { endpoints { id gpuMemoryGb pods { costPerHr gpuCount } } } }`;
    const { myself } = (await fleet.api.graphql(query)) as {
      readonly myself: { readonly endpoints: readonly { readonly id: string }[] };
    };
    const shown = myself.endpoints.find(({ id }) => id === small.id);
    expect(shown).toMatchObject({ gpuMemoryGb: 4, pods: [{ gpuCount: 1, costPerHr: 0.0037 }] });
  });

  test("wait with a reason where no card is so large", async ({ expect, fleet }) => {
    await hostWith(fleet, 1, {
      gpus: [{ index: 0, name: "NVIDIA RTX A4000", tier: "AMPERE_16", memoryMb: 8_000, isSimulated: false }],
    });
    const large = await fleet.endpoint(`${MANY}, gpuMemoryGb: 10`);
    const { detail } = await large.untilWaits(await large.submit(), "no_matching_gpu");
    expect(detail).toBe(
      "The endpoint asks for 10 GB of the memory of one GPU of AMPERE_16; no GPU has more than 8.3 GB. Lower gpuMemoryGb, or join a host with larger GPUs.",
    );
  });

  test.for([
    {
      fields: "gpuMemoryGb: 21",
      message: "gpuMemoryGb: 21 is more than any GPU of gpuIds has; the largest has",
    },
    { fields: "gpuMemoryGb: 4, gpuCount: 2", message: "gpuMemoryGb: needs gpuCount 1" },
    { fields: "gpuMemoryGb: -1", message: "gpuMemoryGb" },
  ])("are refused with $fields", async ({ fields, message }, { expect, fleet }) => {
    await expect(fleet.endpoint(fields)).rejects.toThrow(message);
  });
});
