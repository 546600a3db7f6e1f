/** FLASHBOOT: workers that are let go are kept on standby, and run again before others are placed. */
import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { describe } from "vitest";
import { configOf, fleetObject, passTime } from "./object.ts";
import {
  NO_WORKERS,
  test,
  type FleetHarness,
  type TestEndpoint,
  type TestHost,
} from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";
import { SCALE_DOWN_INTERVAL_MS } from "../../src/domain/scaling/scaling-plan.ts";
import { FLASHBOOT_RETENTION_MS } from "../../src/domain/placement/standby.ts";

const FLASHBOOT = "workersMax: 2, idleTimeout: 5, flashBootType: FLASHBOOT";
const SECOND = 1_000;

type Mode = "run" | "standby";

/** Resolves with the workers of the host, once they have exactly these modes, running ones first. */
async function untilModes(host: TestHost, ...modes: readonly Mode[]): Promise<string[]> {
  return host.untilHas("modes", modes, ({ mode = "run" }) => mode);
}

/** The endpoint has been idle for idleTimeout, which begins when it knows that its worker is ready. */
async function idle(endpoint: TestEndpoint): Promise<void> {
  await until(async () => (await endpoint.workers()).idle > 0, "the endpoint has an idle worker");
  await endpoint.later(5 * SECOND);
}

/** An endpoint whose one worker has been let go, on standby unless said otherwise. */
async function openIdle(fleet: FleetHarness, settings = FLASHBOOT, own?: TestHost) {
  const endpoint = await fleet.endpoint(settings);
  const host = own ?? (await fleet.host({ canFreeze: true }));
  const workerId = await host.work(endpoint);
  await idle(endpoint);
  return { endpoint, host, workerId };
}

async function openStandby(fleet: FleetHarness, own?: TestHost) {
  const scene = await openIdle(fleet, FLASHBOOT, own);
  await untilModes(scene.host, "standby");
  return scene;
}

/** The hours in which the endpoint is billed for workers. */
async function hoursOf({ id }: TestEndpoint, since = 0) {
  const { accountId } = await configOf(id);
  const hours = await fleetObject(accountId).usage({ since, until: Number.MAX_SAFE_INTEGER, storedUntil: 0 });
  return hours.filter(({ endpointId }) => endpointId === id);
}

async function usedMs(endpoint: TestEndpoint): Promise<number> {
  return (await hoursOf(endpoint)).reduce((sum, { workerMs }) => sum + workerMs, 0);
}

describe("a scaled-down worker of an endpoint with FLASHBOOT", () => {
  test("is kept on standby, counts as no worker, and runs the next job", async ({ expect, fleet }) => {
    const { endpoint, host, workerId } = await openStandby(fleet);
    expect(await host.sync()).toMatchObject([{ workerId, mode: "standby" }]);
    expect(await endpoint.workers()).toEqual(NO_WORKERS);
    const { myself } = await fleet.api.graphql<{
      myself: { endpoints: { workersStandby: number; pods: unknown }[] };
    }>(
      "query { myself { endpoints { workersStandby pods { id desiredStatus runtime { uptimeInSeconds } } } } }",
    );
    expect(myself.endpoints).toEqual([
      { workersStandby: 1, pods: [{ id: workerId, desiredStatus: "EXITED", runtime: null }] },
    ]);

    for (let round = 0; round < 3; round += 1) {
      expect(await host.work(endpoint)).toBe(workerId);
      await idle(endpoint);
      await untilModes(host, "standby");
      await endpoint.evict();
    }
  });

  test("is reported as worker_starting until it is ready again, and its second start is in the timeline", async ({
    expect,
    fleet,
  }) => {
    const { endpoint, host, workerId } = await openStandby(fleet);
    const { agent, inventory } = host;
    const id = await endpoint.submit();
    const hasRunning = async () => {
      const { assignments } = await agent.sync({ inventory });
      return assignments[0]?.mode === undefined || notYet(assignments);
    };
    await until(hasRunning, "the worker shall run again");
    await endpoint.untilWaits(id, "worker_starting");
    // An agent that has not heard of it yet still says that the worker is frozen.
    const report = { workerId, endpointId: endpoint.id, revision: 1 };
    await agent.sync({ inventory, workers: [{ ...report, state: "stopping", isStandby: true }] });
    expect(await endpoint.workers()).toMatchObject({ initializing: 1 });

    passTime(100);
    const ago = { containerStarted: 40, ready: 10 };
    await agent.sync({ inventory, workers: [{ ...report, state: "ready", ago }] });
    await agent.complete(endpoint.id, await agent.take(endpoint.id, workerId), 1);
    const timelines = [
      await endpoint.get(`requests/${id}`),
      await endpoint.get(`status/${id}?timeline=true`),
    ];
    expect(JSON.stringify(timelines.map(({ body }) => body))).toContain("worker_ready");
  });

  test("is evicted when another worker needs its GPU", async ({ expect, fleet }) => {
    const one = await fleet.host({ canFreeze: true, gpus: ["AMPERE_16"] });
    const { endpoint, host, workerId } = await openStandby(fleet, one);
    const other = await fleet.endpoint("workersMax: 1, idleTimeout: 5");
    await host.work(other);
    await untilModes(host, "run");
    expect(await host.sync()).toMatchObject([{ endpointId: other.id, gpuIndexes: [0] }]);
    await idle(other);
    expect(await host.work(endpoint)).not.toBe(workerId);
  });

  test("is removed after a time, though nothing happens", async ({ expect, fleet }) => {
    const { endpoint, host } = await openStandby(fleet);
    passTime(FLASHBOOT_RETENTION_MS - 1);
    await host.sync();
    await untilModes(host, "standby");
    passTime(1);
    await runInDurableObject(fleet.object, (object) => object.alarm());
    await untilModes(host);
    expect(await host.work(endpoint)).toBeTypeOf("string");
  });

  test.for<[change: string, act: (endpoint: TestEndpoint) => Promise<void>]>([
    ["a new version", (endpoint) => endpoint.save('env: [{ key: "A", value: "1" }]')],
    ["workersMax of 0", (endpoint) => endpoint.save("workersMax: 0")],
    ["FLASHBOOT switched off", (endpoint) => endpoint.save("flashBootType: OFF")],
    ["the end of the endpoint", (endpoint) => endpoint.delete()],
  ])("goes with %s", async ([, act], { fleet }) => {
    const { endpoint, host } = await openStandby(fleet);
    await act(endpoint);
    await untilModes(host);
  });

  test.for(["cordoned", "drained"])("is removed when its host is %s", async (change, { fleet }) => {
    const { host } = await openStandby(fleet);
    await fleet.updateHost(host, `${change}: true`);
    await untilModes(host);
  });

  test("is removed when the agent of its host is too old for the edge", async ({ expect, fleet }) => {
    const { agent, inventory } = (await openStandby(fleet)).host;
    expect((await agent.sync({ agentVersion: "0.0.1", inventory })).assignments).toEqual([]);
  });

  test("is used for as long as it runs, and not while it is frozen", async ({ expect, fleet }) => {
    const { endpoint, host } = await openStandby(fleet);
    expect(await usedMs(endpoint)).toBe(5 * SECOND);
    passTime(600 * SECOND);
    expect(await usedMs(endpoint)).toBe(5 * SECOND);

    await host.work(endpoint);
    passTime(7 * SECOND);
    expect(await usedMs(endpoint)).toBe(12 * SECOND);
    await idle(endpoint);
    await untilModes(host, "standby");
    passTime(600 * SECOND);
    expect(await usedMs(endpoint)).toBe(17 * SECOND);
    await fleet.removeHost(host.agent);
    expect(await usedMs(endpoint)).toBe(17 * SECOND);
  });

  test("does not count as a worker of an endpoint that waits for one", async ({ expect, fleet }) => {
    const { endpoint } = await openStandby(fleet);
    passTime(3_600 * SECOND); // its host is silent, and so nothing is revived there
    await endpoint.submit();
    const since = Math.floor(Date.now() / 3_600_000) * 3_600_000;
    const waiting = async () => (await hoursOf(endpoint, since))[0];
    expect(await until(waiting, "the endpoint has usage")).toMatchObject({ workerMs: 0, gpus: [] });
  });

  test("is reported to Prometheus as standby, and takes no GPU", async ({ expect, fleet }) => {
    const { endpoint } = await openStandby(fleet);
    const headers = { Authorization: `Bearer ${fleet.api.key}` };
    const text = await (await exports.default.fetch("http://edge/metrics", { headers })).text();
    const lines = text.split("\n").map((line) => line.replace(/name="[^"]*",?/, ""));
    const labels = `edgerun_endpoint_workers{endpoint="${endpoint.id}"`;
    expect(lines.filter((line) => line.startsWith(labels))).toEqual([`${labels},state="standby"} 1`]);
    expect(text).toMatch(/edgerun_host_gpus_taken\{.*\} 0\n/);
    expect(text).toMatch(/edgerun_host_workers\{.*\} 0\n/);
  });

  test("is not kept without FLASHBOOT", async ({ fleet }) => {
    const { host } = await openIdle(fleet, "workersMax: 2, idleTimeout: 5");
    await untilModes(host);
  });

  test("is not kept on a host that cannot freeze", async ({ fleet }) => {
    const { host } = await openIdle(fleet, FLASHBOOT, await fleet.host());
    await untilModes(host);
  });
});

/** An endpoint with two workers on standby, in the order in which they were let go. */
async function openTwo(fleet: FleetHarness) {
  const endpoint = await fleet.endpoint(`${FLASHBOOT}, workersMin: 2`);
  const host = await fleet.host({ canFreeze: true });
  await untilModes(host, "run", "run");
  await host.sync();
  await endpoint.save("workersMin: 0");
  const [earlier = "", later = ""] = await letAllGo(endpoint, host);
  return { endpoint, host, earlier, later };
}

/** Both workers of the endpoint go on standby; returns them in their order. */
async function letAllGo(endpoint: TestEndpoint, host: TestHost): Promise<readonly string[]> {
  await endpoint.later(60 * SECOND + SCALE_DOWN_INTERVAL_MS);
  const [second = "", first = ""] = await untilModes(host, "run", "standby");
  await endpoint.later(60 * SECOND + SCALE_DOWN_INTERVAL_MS);
  await untilModes(host, "standby", "standby");
  return [first, second];
}

test("an endpoint has no more standby workers than workersMax, and those run again before new ones", async ({
  expect,
  fleet,
}) => {
  const { endpoint, host, earlier, later } = await openTwo(fleet);
  await endpoint.save("workersMin: 2");
  expect(new Set(await untilModes(host, "run", "run"))).toEqual(new Set([earlier, later]));

  await endpoint.save("workersMin: 0");
  await letAllGo(endpoint, host);
  await endpoint.save("workersMax: 1");
  await untilModes(host, "standby");
});

describe("a worker on standby that a request names", () => {
  /** What the endpoint tells Fleet that it wants. */
  const want = async (
    { id }: TestEndpoint,
    { workersMax = 2, desired = 1, resume = [] as readonly string[], leaving = [] as readonly string[] },
  ) => {
    const config = { ...(await configOf(id)), workersMax };
    await fleetObject(config.accountId).setDesiredWorkers({
      config,
      desired,
      leaving,
      resume,
      isRemoved: false,
    });
  };
  const running = async (host: TestHost) => (await untilModes(host, "run", "standby"))[0];

  test("runs again, and no other in its place", async ({ expect, fleet }) => {
    const { endpoint, host, earlier } = await openTwo(fleet);
    await want(endpoint, { resume: [earlier] }); // a number that only grows revives the other
    expect(await running(host)).toBe(earlier);
    const assignments = await host.sync();
    await want(endpoint, { resume: [earlier] });
    await running(host);
    expect(await host.sync()).toEqual(assignments);
  });

  test("is not resumed in another epoch than its present one", async ({ expect, fleet }) => {
    const { endpoint, host, earlier, later } = await openTwo(fleet);
    await want(endpoint, { resume: [`${earlier}/1`] });
    expect(await running(host)).toBe(later);
  });

  test("waits while workersMax others run, and runs when one of them has left", async ({ expect, fleet }) => {
    const { endpoint, host, earlier, later } = await openTwo(fleet);
    await want(endpoint, {});
    expect(await running(host)).toBe(later);
    await want(endpoint, { workersMax: 1, resume: [earlier] });
    expect(await running(host)).toBe(later);
    await want(endpoint, { workersMax: 1, resume: [earlier], leaving: [`${later}/1`] });
    expect(await running(host)).toBe(earlier);
  });

  test("runs when its host is present", async ({ expect, fleet }) => {
    const { endpoint, host, earlier } = await openTwo(fleet);
    passTime(60 * SECOND); // its host is silent, but not given up yet
    await want(endpoint, { desired: 0, resume: [earlier] });
    expect(await running(host)).toBe(earlier);
  });
});
