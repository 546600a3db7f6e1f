/** workersPFBTarget: workers that are started and frozen before any job. */
import { describe } from "vitest";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { FLASHBOOT_RETENTION_MS } from "../../src/domain/placement/standby.ts";
import { passTime } from "./object.ts";
import {
  type FleetHarness,
  testInTime as test,
  type TestEndpoint,
  type TestHost,
} from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";

const PREPARED = `workersMin: 0, workersMax: 3, flashBootType: FLASHBOOT, workersPFBTarget: 2`;
const TWO = { gpus: ["AMPERE_16", "AMPERE_16"], canFreeze: true };

const isStandby = ({ mode }: Assignment) => mode === "standby";

/** Resolves with the assignments of the endpoint, once so many are on standby and so many run. */
function untilHas(
  host: TestHost,
  { id }: TestEndpoint,
  standby: number,
  running: number,
): Promise<readonly Assignment[]> {
  const look = async () => {
    const own = (await host.sync()).filter(({ endpointId }) => endpointId === id);
    const counts = [own.filter(isStandby).length, own.filter((each) => !isStandby(each)).length];
    return counts.join() === [standby, running].join() ? own : notYet(counts);
  };
  return until(look, `the host has ${standby} on standby and ${running} that run`);
}

/** A host of two GPUs on which two workers are prepared. */
async function prepared(fleet: FleetHarness) {
  const host = await fleet.host(TWO);
  const endpoint = await fleet.endpoint(PREPARED);
  const assigned = await untilHas(host, endpoint, 2, 0);
  return { host, endpoint, assigned };
}

describe("workers are prepared before any job", () => {
  test("as many as the endpoint is to have, each on GPUs of its own", async ({ expect, fleet }) => {
    const { endpoint, assigned } = await prepared(fleet);
    expect(new Set(assigned.flatMap(({ gpuIndexes }) => gpuIndexes)).size).toBe(2);
    expect(await endpoint.workers()).toMatchObject({ idle: 0, running: 0, initializing: 0 });
  });

  test("and the first job resumes one of them", async ({ fleet }) => {
    const { host, endpoint } = await prepared(fleet);
    await endpoint.submit();
    await untilHas(host, endpoint, 1, 1);
  });

  test("once a host has the capacity", async ({ fleet }) => {
    const endpoint = await fleet.endpoint(PREPARED);
    const host = await fleet.host(TWO);
    await untilHas(host, endpoint, 2, 0);
  });

  test("for the new version as well", async ({ expect, fleet }) => {
    const { host, endpoint, assigned } = await prepared(fleet);
    await endpoint.save(`env: [{ key: "A", value: "1" }]`);
    const look = async () => {
      const own = (await host.sync()).filter(({ endpointId }) => endpointId === endpoint.id);
      const versions = own.map(({ revision }) => revision);
      return versions.join() === "2,2" ? own : notYet(versions);
    };
    const after = await until(look, "both have the new version");
    const before = new Set(assigned.map(({ workerId }) => workerId));
    expect(after.some(({ workerId }) => before.has(workerId))).toBe(false);
  });

  test("and stay so for longer than others", async ({ fleet }) => {
    const { host, endpoint } = await prepared(fleet);
    for (let passed = 0; passed <= FLASHBOOT_RETENTION_MS; passed += FLASHBOOT_RETENTION_MS / 4) {
      passTime(FLASHBOOT_RETENTION_MS / 4);
      await host.sync();
      await fleet.fireAlarm();
    }
    await untilHas(host, endpoint, 2, 0);
  });

  test("and give way to workers of others, after which they are prepared again", async ({
    expect,
    fleet,
  }) => {
    const { host, endpoint } = await prepared(fleet);
    const other = await fleet.endpoint("workersMin: 1, workersMax: 1");
    await untilHas(host, other, 0, 1);
    await untilHas(host, endpoint, 1, 0);
    await other.delete();
    await untilHas(host, endpoint, 2, 0);
    expect(await endpoint.workers()).toMatchObject({ running: 0 });
  });
});

describe("no worker is prepared", () => {
  test.for([
    ["without FLASHBOOT", "workersMin: 0, workersMax: 3, workersPFBTarget: 2", true],
    ["where workersMax is 0", `${PREPARED}, workersMax: 0`.replace("workersMax: 3, ", ""), true],
    ["on a host that cannot freeze", PREPARED, false],
  ] as const)("%s", async ([, settings, canFreeze], { expect, fleet }) => {
    const host = await fleet.host({ ...TWO, canFreeze });
    await fleet.endpoint(settings);
    expect(await host.sync()).toEqual([]);
  });
});
