/** Endpoints that want more GPUs than there are: whose workers give way, and when. */
import { describe } from "vitest";
import { SLICE_MIN_MS } from "../../src/domain/placement/shares.ts";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { evict, passTime } from "./object.ts";
import {
  type FleetHarness,
  testInTime as test,
  type TestEndpoint,
  type TestHost,
} from "./support/fleet-harness.ts";
import { notYet, until } from "./support/until.ts";

const ONE_JOB_EACH = `workersMax: 4, idleTimeout: 3600, scalerType: "REQUEST_COUNT", scalerValue: 1`;
const oneGpu = { gpus: ["AMPERE_16"] };

/** The names of the endpoints of the host's workers, once they are these; hosts and objects hear from each other. */
async function untilServes(host: TestHost, ...endpoints: readonly TestEndpoint[]): Promise<void> {
  const expected = endpoints.map(({ id }) => id).toSorted();
  const look = async () => {
    const served = endpointsOf(await host.sync());
    return served.join() === expected.join() || notYet(served);
  };
  await until(look, `the host has workers of ${expected.join()}`);
}

function endpointsOf(assignments: readonly Assignment[]): readonly string[] {
  return assignments
    .filter(({ mode }) => mode !== "standby")
    .map(({ endpointId }) => endpointId)
    .toSorted();
}

describe("a worker without a job", () => {
  test("gives way to the job of another endpoint long before its idle timeout", async ({ fleet }) => {
    const host = await fleet.host(oneGpu);
    const [first, second] = [await fleet.endpoint(ONE_JOB_EACH), await fleet.endpoint(ONE_JOB_EACH)];
    for (const endpoint of [first, second, first]) {
      await host.work(endpoint);
      await untilServes(host, endpoint);
    }
  });

  test("stays where it is one of workersMin", async ({ expect, fleet }) => {
    const host = await fleet.host(oneGpu);
    const first = await fleet.endpoint(`${ONE_JOB_EACH}, workersMin: 1`);
    await host.untilReady(first, 1);
    const second = await fleet.endpoint(ONE_JOB_EACH);
    const jobId = await second.submit();
    const { detail } = await second.untilWaits(jobId, "no_matching_gpu");
    expect(detail).toContain("taken");
    expect(endpointsOf(await host.sync())).toEqual([first.id]);
  });

  test("is the one that has been free for longest", async ({ fleet }) => {
    const host = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16"] });
    const [older, newer] = [await fleet.endpoint(ONE_JOB_EACH), await fleet.endpoint(ONE_JOB_EACH)];
    await host.work(older);
    passTime(5_000);
    await host.work(newer);
    passTime(5_000);
    const third = await fleet.endpoint(ONE_JOB_EACH);
    await third.submit();
    await untilServes(host, newer, third);
  });

  test("and another one give way together for two GPUs", async ({ fleet }) => {
    const host = await fleet.host({ gpus: ["AMPERE_16", "AMPERE_16"] });
    for (const endpoint of [await fleet.endpoint(ONE_JOB_EACH), await fleet.endpoint(ONE_JOB_EACH)])
      await host.work(endpoint);
    const large = await fleet.endpoint(`${ONE_JOB_EACH}, gpuCount: 2`);
    await large.submit();
    await untilServes(host, large);
  });
});

/** The first endpoint has the only GPU, a job on it and more that wait; the second one has a job. */
async function openBusy(fleet: FleetHarness, second = ONE_JOB_EACH) {
  const host = await fleet.host(oneGpu);
  const busy = await fleet.endpoint(ONE_JOB_EACH);
  await busy.submitMany(2);
  const [workerId = ""] = await host.untilReady(busy, 1);
  const [job] = await host.offer([workerId]);
  if (!job) throw new Error("The worker got no job.");
  const waiting = await fleet.endpoint(second);
  const jobId = await waiting.submit();
  return { host, busy, workerId, job, waiting, jobId };
}

describe("a worker with jobs", () => {
  test("gives way after them when its slice of time is over, and its endpoint waits then", async ({
    expect,
    fleet,
  }) => {
    const { host, busy, workerId, job, waiting, jobId } = await openBusy(fleet);
    const { detail } = await waiting.untilWaits(jobId, "waiting_for_share");
    expect(detail).toContain("have it now");
    for (let passed = 0; passed <= SLICE_MIN_MS; passed += 5_000) {
      passTime(5_000);
      await host.sync(); // or the host would be taken for lost
    }
    await fleet.fireAlarm();
    const look = async () => {
      const place = await waiting.untilWaits(jobId, "waiting_for_share");
      return place.detail.includes("gives way after") || notYet(place);
    };
    await until(look, "the worker gives way");
    expect(await host.completeAndOffer(job)).toEqual([]);
    await untilServes(host, waiting);
    expect(await host.offer([workerId]).catch(() => [])).toEqual([]);
    expect(await busy.health()).toMatchObject({ jobs: { inQueue: 1, completed: 1 } });
  });

  test("gets its next job while its slice of time lasts", async ({ expect, fleet }) => {
    const { host, busy, job, waiting, jobId } = await openBusy(fleet);
    await waiting.untilWaits(jobId, "waiting_for_share");
    expect(await host.completeAndOffer(job)).toHaveLength(1);
    expect(endpointsOf(await host.sync())).toEqual([busy.id]);
  });

  test("gives way at once to an endpoint below its workersMin", async ({ expect, fleet }) => {
    const { host, job, waiting } = await openBusy(fleet, `${ONE_JOB_EACH}, workersMin: 1`);
    const look = async () => (await host.completeAndOffer(job)).length === 0 || notYet(job.id);
    await until(look, "the worker gets no more jobs");
    await untilServes(host, waiting);
    expect(await waiting.health()).toMatchObject({ jobs: { inQueue: 1 } });
  });
});

test("objects that lose their memory go on from there", async ({ fleet }) => {
  const host = await fleet.host(oneGpu);
  const [first, second] = [await fleet.endpoint(ONE_JOB_EACH), await fleet.endpoint(ONE_JOB_EACH)];
  await host.work(first);
  await second.submit();
  await evict(first.id);
  await fleet.evict();
  await untilServes(host, second);
});

test.for([0, 1])(
  "host %i, which is free first, goes to the endpoint that waits for longer",
  async (free, { expect, fleet }) => {
    const hosts = [await fleet.host(oneGpu), await fleet.host(oneGpu)];
    const leaving = await fleet.endpoint(ONE_JOB_EACH);
    await leaving.submitMany(2);
    for (const host of hosts) {
      await host.offer(await host.untilHas("endpoints", [leaving.id], ({ endpointId }) => endpointId));
    }
    const [first, second] = [await fleet.endpoint(ONE_JOB_EACH), await fleet.endpoint(ONE_JOB_EACH)];
    await first.untilWaits(await first.submit(), "waiting_for_share");
    const { queue } = await second.status(await second.submit());
    expect(queue).toMatchObject({ position: 1 });
    await leaving.delete();
    const host = hosts[free];
    if (host) await untilServes(host, first);
  },
);

test("what a worker leaves that left before others waited goes to the endpoint without any", async ({
  fleet,
}) => {
  const [free, busy] = [await fleet.host(oneGpu), await fleet.host(oneGpu)];
  const [none, some] = [await fleet.endpoint(ONE_JOB_EACH), await fleet.endpoint(ONE_JOB_EACH)];
  await free.work(none);
  await some.submit();
  await busy.offer(await busy.untilReady(some, 1));
  await none.save("workersMax: 0");
  await none.save("workersMax: 4");
  await none.untilWaits(await none.submit(), "no_matching_gpu");
  await some.untilWaits(await some.submit(), "no_matching_gpu");
  await untilServes(free, none);
});
