/** A version on trial: a share of the workers and jobs runs it, and by its jobs it goes on or back by itself. */
import type { DispatchedJob } from "../../src/contract/agent/agent.ts";
import { CANARY_LIMIT_MS, STALL_LIMIT_MS } from "../../src/domain/rollouts/canary-rule.ts";
import { test, type FleetHarness, type TestEndpoint, type TestHost } from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";

const VARIABLE = 'env: [{ key: "A", value: "new" }]';

type Shown = {
  readonly version: number;
  readonly canary: { readonly from: number; readonly percent: number } | null;
  readonly env: readonly { readonly value: string }[];
  readonly releases: readonly { readonly version: number; readonly reason: string | null }[];
};

/** Two ready workers of version 1, and one of version 2 that tries it with half of the jobs. */
async function open(fleet: FleetHarness) {
  const endpoint = await fleet.endpoint('workersMin: 2, workersMax: 2, env: [{ key: "A", value: "old" }]');
  const host = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16", "AMPERE_16"] });
  await host.untilReady(endpoint, 2);
  await endpoint.save(`${VARIABLE}, canaryPercent: 50`);
  const [older = "", newer = ""] = await host.untilVersions(1, 2);
  return { endpoint, host, older, newer };
}

async function shown(fleet: FleetHarness, { id }: TestEndpoint): Promise<Shown> {
  const { myself } = await fleet.api.graphql<{ myself: { endpoint: Shown } }>(
    `{ myself { endpoint(id: "${id}") { version canary { from percent } env { value } releases { version reason } } } }`,
  );
  return myself.endpoint;
}

async function untilShown(fleet: FleetHarness, endpoint: TestEndpoint, isIt: (now: Shown) => boolean) {
  const look = async () => {
    const now = await shown(fleet, endpoint);
    return isIt(now) ? now : notYet(now);
  };
  return await until(look, "the verdict is carried out");
}

async function canaryOf(endpoint: TestEndpoint): Promise<Record<string, unknown> | null> {
  return (await endpoint.health())["canary"] as Record<string, unknown> | null;
}

async function fail(host: TestHost, endpoint: TestEndpoint, job: DispatchedJob): Promise<void> {
  const { id: jobId, attempt, workerId } = job;
  await host.agent.report(endpoint.id, { kind: "failed", jobId, attempt, workerId, error: "no" });
}

/** Jobs run until there is a verdict, or so many have; those of the new version fail or not. */
async function run(
  { endpoint, host, older, newer }: Awaited<ReturnType<typeof open>>,
  { count, fails }: { readonly count: number; readonly fails: boolean },
): Promise<ReadonlyMap<string, number>> {
  const ran = new Map([older, newer].map((workerId) => [workerId, 0]));
  for (let number = 0; number < count; number += 1) {
    await endpoint.submit();
    const jobs = await host.offer([older, newer]);
    for (const job of jobs) {
      ran.set(job.workerId, (ran.get(job.workerId) ?? 0) + 1);
      if (fails && job.workerId === newer) await fail(host, endpoint, job);
      else await host.complete(job);
    }
  }
  return ran;
}

test("half of the workers and jobs run it, and both versions are counted", async ({ expect, fleet }) => {
  const scene = await open(fleet);
  const ran = await run(scene, { count: 8, fails: false });
  expect(Math.abs((ran.get(scene.older) ?? 0) - (ran.get(scene.newer) ?? 0))).toBeLessThanOrEqual(1);
  expect(await canaryOf(scene.endpoint)).toMatchObject({
    to: 2,
    percent: 50,
    jobs: { ended: ran.get(scene.newer), failed: 0 },
    before: { ended: ran.get(scene.older), failed: 0 },
    verdict: null,
  });
  expect(await shown(fleet, scene.endpoint)).toMatchObject({ version: 2, canary: { from: 1, percent: 50 } });
});

test("a version whose jobs fail goes back, as a new version that says why", async ({ expect, fleet }) => {
  const scene = await open(fleet);
  await run(scene, { count: 24, fails: true });
  const now = await untilShown(fleet, scene.endpoint, ({ version }) => version === 3);
  expect(now).toMatchObject({ canary: null, env: [{ value: "old" }] });
  expect(now.releases[0]?.reason).toMatch(/^canary of v2 went back to v1: \d+ of \d+ jobs failed, 0 of \d+/);
  await scene.host.untilVersions(3, 3);
  expect(await canaryOf(scene.endpoint)).toBeNull();
});

test("what the object has counted outlasts its memory", async ({ expect, fleet }) => {
  const scene = await open(fleet);
  await run(scene, { count: 6, fails: true });
  const before = await canaryOf(scene.endpoint);
  await scene.endpoint.evict();
  expect(await canaryOf(scene.endpoint)).toEqual(before);
});

test("a version without fault goes on when its time is over", async ({ expect, fleet }) => {
  const scene = await open(fleet);
  await run(scene, { count: 12, fails: false });
  await scene.endpoint.later(CANARY_LIMIT_MS);
  await scene.host.sync();
  await scene.host.offer([scene.newer]);
  const now = await untilShown(fleet, scene.endpoint, ({ canary }) => canary === null);
  expect(now).toMatchObject({ version: 2, env: [{ value: "new" }] });
  await scene.host.untilVersions(2, 2);
});

test("a version whose workers cannot start goes back", async ({ expect, fleet }) => {
  const scene = await open(fleet);
  scene.host.set(scene.newer, "crash_looping", "It exits with code 1.");
  await scene.host.sync();
  await until(async () => (await scene.endpoint.workers()).unhealthy === 1 || notYet(0), "it is known");
  await scene.endpoint.later(STALL_LIMIT_MS);
  await scene.host.sync();
  await scene.host.offer([scene.older]);
  const now = await untilShown(fleet, scene.endpoint, ({ version }) => version === 3);
  expect(now.releases[0]?.reason).toContain("its workers did not start: It exits with code 1.");
});

test("a lost worker of the earlier version is replaced by one of that version", async ({ expect, fleet }) => {
  const endpoint = await fleet.endpoint('workersMin: 2, workersMax: 2, env: [{ key: "A", value: "old" }]');
  const lost = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16"] });
  await lost.untilReady(endpoint, 2);
  await endpoint.save(`${VARIABLE}, canaryPercent: 50`);
  const host = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16"] });
  await fleet.removeHost(lost.agent);
  await host.untilVersions(1, 2);
  const assignments = await host.sync();
  const variables = new Map(assignments.map(({ revision, env }) => [revision, env["A"]]));
  expect(variables.get(1)).toBe("old");
  expect(variables.get(2)).toBe("new");
});

test("another version ends the trial, and so does canaryPercent 0", async ({ expect, fleet }) => {
  const { endpoint, host } = await open(fleet);
  await endpoint.save("idleTimeout: 7");
  expect(await shown(fleet, endpoint)).toMatchObject({ canary: { from: 1 } });
  await endpoint.save('env: [{ key: "A", value: "third" }], canaryPercent: 20');
  expect(await shown(fleet, endpoint)).toMatchObject({ version: 3, canary: { from: 1, percent: 20 } });
  await endpoint.save("canaryPercent: 0");
  expect(await shown(fleet, endpoint)).toMatchObject({ version: 3, canary: null });
  await host.untilVersions(3, 3);
});

test("other GPUs, and endpoints without a queue, are refused", async ({ expect, fleet }) => {
  const { endpoint } = await open(fleet);
  await expect(endpoint.save("gpuCount: 2, canaryPercent: 50")).rejects.toThrow("canaryPercent");
  await expect(endpoint.save("canaryPercent: 51")).rejects.toThrow("canaryPercent");
  const balanced = await fleet.endpoint('type: "LB", scalerType: "REQUEST_COUNT"');
  await expect(balanced.save(`${VARIABLE}, canaryPercent: 50`)).rejects.toThrow("canaryPercent");
});
