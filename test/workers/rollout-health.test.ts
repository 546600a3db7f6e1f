/** What a changed endpoint or template does to its workers: they are replaced one by one, and no job is lost. */
import { describe } from "vitest";
import { ROLLOUT_HOLD_MS } from "../../src/endpoint/scaling/rollout.ts";
import { channelOf, passTime } from "./object.ts";
import { test, type FleetHarness, type TestEndpoint } from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";

/** Changes what the workers of the endpoint are made of. */
async function changeVersion(endpoint: TestEndpoint): Promise<void> {
  await endpoint.save(`env: [{ key: "A", value: "${crypto.randomUUID()}" }]`);
}

async function rolloutOf(endpoint: TestEndpoint): Promise<Record<string, unknown> | null> {
  return (await endpoint.health())["release"] as Record<string, unknown> | null;
}

/** An endpoint with as many ready workers as it has at least, on a host with so many GPUs. */
async function open(fleet: FleetHarness, workers = 1, gpus = 4) {
  const endpoint = await fleet.endpoint(`workersMin: ${workers}, workersMax: ${workers}`);
  const tiers = Array.from({ length: gpus }, () => "AMPERE_16");
  const host = await fleet.host({ gpus: tiers, state: "starting" });
  const ids = await host.untilVersions(...Array.from({ length: workers }, () => 1));
  for (const id of ids) host.set(id, "ready");
  await host.untilReady(endpoint, workers);
  const [workerId = ""] = ids;
  return { endpoint, host, ids, workerId };
}

/** The same, with a job in each worker and jobs that wait. */
async function openBusy(fleet: FleetHarness, workers: number, gpus: number) {
  const scene = await open(fleet, workers, gpus);
  await scene.endpoint.submitMany(workers + 4);
  const [one, two = one] = await scene.host.offer(scene.ids);
  if (!one || !two) throw new Error("The workers were given no jobs.");
  return { ...scene, one, two };
}

describe("an endpoint without jobs", () => {
  test("gives the next job to a worker of the new version, and then stops the old one", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, host, workerId } = await open(fleet);
    await changeVersion(endpoint);
    const id = await endpoint.submit();
    expect(await host.offer([workerId])).toEqual([]);

    const [, successor = ""] = await host.untilVersions(1, 2);
    host.set(successor, "ready");
    expect(await host.untilVersions(2)).toEqual([successor]);
    expect(await host.offer([workerId, successor])).toMatchObject([{ id, workerId: successor }]);
  });

  test("gives none to an agent either that waits for jobs of an older worker", async ({ expect, fleet }) => {
    const { endpoint, host, workerId } = await open(fleet);
    passTime(60_000); // the object is quiet, so that who waits waits outside
    await host.sync();
    const slots = [{ workerId, free: 1 }];
    const waiting = host.agent.exchange(endpoint.id, { slots, holdMs: 1_000 });
    await channelOf(endpoint.id, "agent");
    await changeVersion(endpoint);
    await endpoint.submit();
    expect((await waiting).jobs).toEqual([]);
  });

  for (const isEvicted of [false, true]) {
    const title = "gives it to the old worker when the new one takes too long";
    test(
      isEvicted ? `${title}, also when the object forgets in between` : title,
      async ({ expect, fleet }) => {
        const { endpoint, host, workerId } = await open(fleet);
        await changeVersion(endpoint);
        await endpoint.submit();
        await host.untilVersions(1, 2);
        if (isEvicted) await endpoint.evict();
        passTime(ROLLOUT_HOLD_MS - 1);
        await host.sync();
        expect(await host.offer([workerId])).toEqual([]);
        await endpoint.later(1);
        expect(await host.offer([workerId])).toMatchObject([{ workerId }]);
      },
    );
  }

  test("gives it to the old worker at once when the new one fails, and says so", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, host, workerId } = await open(fleet);
    await changeVersion(endpoint);
    const id = await endpoint.submit();
    const [, broken = ""] = await host.untilVersions(1, 2);
    const waiting = host.agent.take(endpoint.id, workerId);
    host.set(broken, "crash_looping", "It exits with code 3.");
    await host.sync();
    expect(await waiting).toMatchObject({ id, workerId });
    const { myself } = await fleet.api.graphql<{ myself: { endpoint: { rollout: unknown } } }>(
      `{ myself { endpoint(id: "${endpoint.id}") { rollout {
        inProgress oldestVersion workersOnLatest workersTotal percentOnLatest reason } } } }`,
    );
    expect(myself.endpoint.rollout).toEqual({
      inProgress: true,
      oldestVersion: 1,
      workersOnLatest: 1,
      workersTotal: 2,
      percentOnLatest: 50,
      reason: "It exits with code 3.",
    });
    expect(await rolloutOf(endpoint)).toMatchObject({
      from: 1,
      to: 2,
      outdated: 1,
      current: 1,
      ready: 0,
      stalledSince: new Date().toISOString(),
      reason: "It exits with code 3.",
    });
  });
});

describe("an endpoint with jobs", () => {
  test("works on while new workers come up, each of which replaces one that is out of jobs", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, host, ids, one, two } = await openBusy(fleet, 2, 3);
    await changeVersion(endpoint);
    const [, , first = ""] = await host.untilVersions(1, 1, 2);
    const [next] = await host.completeAndOffer(one);
    expect(next).toMatchObject({ workerId: one.workerId });

    host.set(first, "ready");
    await host.untilReady(endpoint, 3);
    expect(await host.completeAndOffer(two)).toEqual([]);
    const [stays = "", , second = ""] = await host.untilVersions(1, 2, 2);
    expect(ids).toContain(stays);
    expect(await host.offer([first])).toHaveLength(1);
    expect(await rolloutOf(endpoint)).toMatchObject({
      outdated: 1,
      current: 2,
      ready: 1,
      stalledSince: null,
    });

    host.set(second, "ready");
    await host.untilReady(endpoint, 3);
    if (!next) throw new Error("There was no other job.");
    expect(await host.completeAndOffer(next)).toEqual([]);
    expect((await host.untilVersions(2, 2)).toSorted()).toEqual([first, second].toSorted());
    expect(await rolloutOf(endpoint)).toBeNull();
    expect((await endpoint.health())["jobs"]).toMatchObject({ failed: 0, retried: 0 });
  });

  test("whose workers have all GPUs gives up the one that is first without a job", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, host, one, two } = await openBusy(fleet, 2, 2);
    await changeVersion(endpoint);
    await until(async () => await rolloutOf(endpoint), "the rollout has begun");
    await host.untilVersions(1, 1);
    const isOutOfJobs = async () => (await host.completeAndOffer(two)).length === 0;
    await until(isOutOfJobs, "the worker is given no other job");
    const [stays = "", successor = ""] = await host.untilVersions(1, 2);
    expect(stays).toBe(one.workerId);
    expect(await host.completeAndOffer(one)).toHaveLength(1);
    host.set(successor, "ready");
    await host.untilReady(endpoint, 2);
    expect(await rolloutOf(endpoint)).toMatchObject({ outdated: 1, ready: 1 });
  });

  test("survives a version that fails, and continues with the next one", async ({ expect, fleet }) => {
    const { endpoint, host, ids, one, two } = await openBusy(fleet, 2, 3);
    await changeVersion(endpoint);
    const [, , broken = ""] = await host.untilVersions(1, 1, 2);
    host.set(broken, "crash_looping");
    await host.sync();
    for (const job of [one, two]) expect(await host.completeAndOffer(job)).toHaveLength(1);

    await changeVersion(endpoint);
    const [, , good = ""] = await host.untilVersions(1, 1, 3);
    expect(ids).not.toContain(good);
    expect(await rolloutOf(endpoint)).toMatchObject({ from: 1, to: 3, outdated: 2, stalledSince: null });
  });

  test("says what is in the way when no host fits the new version, and keeps its workers", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, host, one, two } = await openBusy(fleet, 2, 3);
    await endpoint.save('gpuIds: "ADA_80_PRO"');
    const isStalled = async () => {
      const rollout = await rolloutOf(endpoint);
      return typeof rollout?.["stalledSince"] === "string" || notYet(rollout);
    };
    await until(isStalled, "the rollout has stalled");
    expect(await rolloutOf(endpoint)).toMatchObject({
      outdated: 2,
      reason: expect.stringContaining("ADA_80_PRO"),
    });
    for (const job of [one, two]) expect(await host.completeAndOffer(job)).toHaveLength(1);
    await host.untilVersions(1, 1);
  });
});

describe("an endpoint that allows no workers", () => {
  test("dispatches no job, also to a worker that is still there", async ({ expect, fleet }) => {
    const { endpoint, host, workerId } = await open(fleet);
    await endpoint.save("workersMin: 0, workersMax: 0");
    await endpoint.submit();
    expect(await host.offer([workerId])).toEqual([]);
    expect(await endpoint.health()).toMatchObject({ jobs: { inQueue: 1 } });
  });

  test("in the middle of a rollout stops all workers, and comes back with the new version", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, host, workerId, one } = await openBusy(fleet, 1, 2);
    await changeVersion(endpoint);
    await host.untilVersions(1, 2);
    await endpoint.save("workersMin: 0, workersMax: 0");
    await host.untilVersions(1);
    expect(await host.completeAndOffer(one)).toEqual([]);
    await host.untilVersions();
    await endpoint.save("workersMax: 1");
    expect(await host.untilVersions(2)).not.toContain(workerId);
  });

  test("notifies an agent that waits for a busy worker when they are allowed again", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, host, workerId } = await open(fleet);
    await endpoint.submit();
    await host.agent.take(endpoint.id, workerId);
    await endpoint.save("workersMin: 0, workersMax: 0");
    const id = await endpoint.submit();
    const slots = [{ workerId, free: 1 }];
    const waiting = host.agent.exchange(endpoint.id, { slots, holdMs: 10_000 });
    await endpoint.save("workersMax: 3");
    expect((await waiting).jobs).toMatchObject([{ id, workerId }]);
  });
});

describe("a change that leaves workers as they are", () => {
  test("keeps them at work", async ({ expect, fleet }) => {
    const { endpoint, host, workerId } = await open(fleet);
    await endpoint.save("idleTimeout: 9, executionTimeoutMs: 7000");
    await endpoint.submit();
    expect(await host.agent.take(endpoint.id, workerId)).toMatchObject({
      workerId,
      executionTimeoutMs: 7_000,
    });
    expect(await fleet.object.workersOf([endpoint.id])).toMatchObject([{ workerId }]);
  });

  test("makes no version: another name and readme, and values that are what they were", async ({
    expect,
    fleet,
  }) => {
    const { endpoint } = await open(fleet);
    const selection = "myself { endpoints { id version templateId name gpuIds workersMin workersMax } }";
    type Listed = { id: string; version: number; templateId: string; name: string; gpuIds: string };
    const read = async () => {
      const { myself } = await fleet.api.graphql<{ myself: { endpoints: Listed[] } }>(`{ ${selection} }`);
      const [found] = myself.endpoints.filter(({ id }) => id === endpoint.id);
      if (!found) throw new Error("The endpoint is gone.");
      return found;
    };
    const { version, templateId, name, gpuIds } = await read();
    const saveTemplate = async (fields: string) => {
      await fleet.api.graphql(`mutation { saveTemplate(input: { id: "${templateId}", ${fields} }) { id } }`);
    };
    await saveTemplate(`name: "${name} with another name", readme: "# Another readme"`);
    await saveTemplate('imageName: "test:1", containerDiskInGb: 5, dockerArgs: "", env: []');
    const same = `name: "${name}", gpuIds: "${gpuIds}", templateId: "${templateId}", env: [], locations: ""`;
    await endpoint.save(`${same}, workersMin: 1, workersMax: 2`);
    expect((await read()).version).toBe(version);
    expect(await rolloutOf(endpoint)).toBeNull();

    await saveTemplate('imageName: "test:2"');
    expect((await read()).version).toBe(version + 1);
  });
});
