/** Workers that shall not run for now: their processes are kept, frozen, and get jobs only when they run again. */
import { describe, type ExpectStatic, test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { processesNaming } from "../support/agent-process.ts";

const STANDBY = { mode: "standby" } as const;

/** The edge has heard that the worker is frozen. */
function untilFrozen(host: AgentFixture, workerId = "worker-1") {
  return host.edge.until(() =>
    host.edge.syncs.at(-1)?.workers.find((worker) => worker.workerId === workerId && worker.isStandby),
  );
}

/** A worker that was ready and is frozen now; answers its processes. */
async function frozenWorker(
  host: AgentFixture,
  env: Record<string, string> = {},
): Promise<readonly number[]> {
  await host.readyWorker({ env });
  const pids = processesNaming(host.stateDir);
  host.edge.assign(assignment({ env, ...STANDBY }));
  await untilFrozen(host);
  return pids;
}

/** Runs a job through the worker, which is wanted again. */
async function revive(expect: ExpectStatic, host: AgentFixture, jobId: string): Promise<void> {
  host.edge.submit("endpoint-1", { id: jobId, input: { mock_return: jobId } });
  host.edge.assign(assignment());
  expect(await host.edge.report(jobId)).toMatchObject({ kind: "completed", output: jobId });
}

describe("a worker on standby", () => {
  test("is frozen as it is, and the same process takes jobs when it is wanted again", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const pids = await frozenWorker(host);
    expect(await host.runtime().list()).toMatchObject([{ isRunning: true, isFrozen: true }]);
    expect(host.edge.syncs.at(-1)?.workers).toMatchObject([{ state: "stopping", isStandby: true }]);

    await revive(expect, host, "job-1");
    expect(processesNaming(host.stateDir)).toEqual(pids);
    expect(host.count("worker_started")).toBe(1);
    const after = host.edge.syncs.slice(host.edge.syncs.findIndex(({ workers }) => workers[0]?.isStandby));
    const states = after.flatMap(({ workers }) => workers.map(({ state }) => state));
    expect([...new Set(states)]).toEqual(["stopping", "starting", "ready"]);
  });

  test("is offered to no job, even after many changes", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker();
    for (let round = 1; round <= 5; round += 1) {
      host.edge.assign(assignment(STANDBY));
      await untilFrozen(host);
      const from = host.edge.exchanges.length;
      host.edge.submit("endpoint-1", { id: `job-${round}`, input: { mock_return: round } });
      host.edge.assign(assignment({ ...STANDBY, env: { ROUND: `${round}` } }));
      await host.edge.until(() => host.edge.syncs.at(-1)?.appliedRevision === host.edge.revision);
      const offers = host.edge.exchanges.slice(from).flatMap(({ request }) => request.slots);
      expect(offers).toEqual([]);
      host.edge.assign(assignment());
      expect(await host.edge.report(`job-${round}`)).toMatchObject({ kind: "completed", output: round });
    }
    expect(host.count("worker_frozen")).toBe(5);
    expect(host.count("worker_started")).toBe(1);
  });

  test("keeps no conversation with its endpoint going, which may sleep", async ({ expect }) => {
    await using host = await AgentFixture.start({ edgeHoldMs: 50 });
    await frozenWorker(host);
    const untilSynced = async (times: number) => {
      const until = host.edge.syncs.length + times;
      await host.edge.until(() => host.edge.syncs.length >= until);
    };
    await untilSynced(3); // the exchange that was held has ended
    const before = host.edge.exchanges.length;
    await untilSynced(5);
    expect(host.edge.exchanges).toHaveLength(before);
    await revive(expect, host, "job-1");
  });

  test("ends the job that it has before it is frozen", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const { endpointId } = await host.readyWorker();
    host.edge.submit(endpointId, { id: "job-1", input: { mock_delay: 0.5, mock_return: "whole" } });
    await host.edge.held("job-1");
    host.edge.assign(assignment(STANDBY));
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: "whole" });
    await untilFrozen(host);
  });

  test("is not reported as failing when it is thawed after a late start", async ({ expect }) => {
    await using host = await AgentFixture.create();
    const failed = { kind: "failed", detail: "no such image" } as const;
    host.prepareOutcomes.push(failed, failed);
    await host.startAgent();
    await frozenWorker(host);
    const from = host.edge.syncs.length;
    await revive(expect, host, "job-1");
    const told = host.edge.syncs.slice(from).flatMap(({ workers }) => workers);
    expect(told.some(({ state }) => state === "starting")).toBe(true);
    expect(told.filter(({ failing }) => failing !== undefined)).toEqual([]);
  });

  test("that is assigned as a standby starts, is frozen and never offered", async ({ expect }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(assignment(STANDBY));
    await untilFrozen(host);
    expect(host.edge.exchanges.flatMap(({ request }) => request.slots)).toEqual([]);
    await revive(expect, host, "job-1");
    expect(host.count("worker_started")).toBe(1);
  });

  test("stays frozen while its agent is restarted, and continues in the same process", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const pids = await frozenWorker(host);
    await host.stopAgent();
    const syncs = host.edge.syncs.length;
    await host.startAgent();
    await host.logged("worker_adopted");
    await host.edge.until(() => host.edge.syncs.length > syncs + 1);
    for (const { workers } of host.edge.syncs.slice(syncs))
      expect(workers).toMatchObject([{ isStandby: true }]);
    expect(await host.runtime().list()).toMatchObject([{ isFrozen: true }]);

    await revive(expect, host, "job-1");
    expect(processesNaming(host.stateDir)).toEqual(pids);
    expect(host.count("worker_started")).toBe(1);
  });

  test("that dies while it is frozen is restarted and frozen again", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const pids = await frozenWorker(host);
    for (const pid of pids) process.kill(pid, "SIGKILL");
    await host.logged("worker_frozen", 2);
    await untilFrozen(host);
    await revive(expect, host, "job-1");
    expect(host.count("worker_started")).toBe(2);
  });

  test("that is no longer assigned is removed at once, without a grace period", async ({ expect }) => {
    await using host = await AgentFixture.start({ drainGraceMs: 600_000 });
    await frozenWorker(host, { MOCK_IGNORE_SIGTERM: "1" });
    host.edge.assign();
    await host.edge.workerGone("worker-1");
    expect(await host.runtime().list()).toEqual([]);
  });
});
