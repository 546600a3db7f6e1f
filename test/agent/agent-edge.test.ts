import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";
import { Gate } from "../support/gate.ts";

describe("the conversation with the edge", () => {
  test("survives an edge that is away for a while, and reports what happened meanwhile", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_delay: 0.4, mock_return: "kept" } });
    await host.edge.held("job-1");
    host.edge.goOffline();
    await host.logged("edge_unreachable");
    await host.logged("job_reported");
    const syncsBefore = host.edge.syncs.length;
    host.edge.goOnline();

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: "kept" });
    await host.logged("edge_reachable");
    await host.edge.until(() => host.edge.syncs.length > syncsBefore);
    expect(host.count("edge_unreachable")).toBe(1);
    expect(host.count("edge_reachable")).toBe(1);
  });

  test("sends a report again when its reply was lost", async () => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const open = host.edge.gateReports();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: 1 } });
    await host.edge.report("job-1");
    host.edge.goOffline();
    await host.logged("edge_unreachable");
    open();
    host.edge.goOnline();

    await host.edge.until(() => host.edge.reportsOf("job-1").length === 2);
    // A hold that is parked already stays as it is; another job makes the agent list its jobs again.
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    await host.edge.report("job-2");
    await host.edge.until(() =>
      host.edge.exchanges.at(-1)?.request.held.every(({ jobId }) => jobId !== "job-1"),
    );
  });

  test("does not become a hot loop when the edge does not hold", async ({ expect }) => {
    await using host = await AgentFixture.start({ edgeRetryBaseMs: 100, edgeRetryCapMs: 400 });
    host.edge.behaviour.answersAtOnce = true;
    await host.readyWorker();
    const before = host.edge.exchanges.length + host.edge.syncs.length;
    const until = performance.now() + 1_500;
    await host.edge.until(() => performance.now() > until);
    const calls = host.edge.exchanges.length + host.edge.syncs.length - before;
    expect(calls).toBeGreaterThan(2);
    expect(calls).toBeLessThan(40);
  });

  test("ends when the edge no longer accepts the host", async ({ expect }) => {
    await using host = await AgentFixture.create();
    host.edge.behaviour.errorStatus = 401;
    await host.startAgent();
    expect(await host.unauthorized).toBe("unauthorized");
  });

  test("reports running workers in its sync", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker();
    expect(host.edge.syncs.at(-1)).toMatchObject({
      holdMs: 50_000,
      appliedRevision: 2,
      inventory: { cpuCount: 2, runtime: "process" },
      workers: [{ workerId: "worker-1", endpointId: "endpoint-1", revision: 1, state: "ready" }],
    });
  });

  test("declines a job that its worker can no longer get, without losing an attempt", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const gate = new Gate(host.stateDir);
    const slow = { mock_until: gate.file, mock_return: 1 };
    host.edge.submit("endpoint-1", { id: "job-0", input: slow });
    await host.readyWorker({ env: { MOCK_CONCURRENCY: "2" } });
    await host.edge.held("job-0");
    // The edge hands out one job more than there are slots.
    host.edge.behaviour.extraSlots = 1;
    host.edge.behaviour.answersAtOnce = true;
    host.edge.submit("endpoint-1", { id: "job-1", input: slow }, { id: "job-2", input: { mock_return: 2 } });
    await host.logged("job_declined");
    gate.open();
    host.edge.behaviour.answersAtOnce = false;
    host.edge.behaviour.extraSlots = 0;

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed" });
    const second = await host.edge.until(() => host.edge.reportsOf("job-2")[0]);
    expect(second).toMatchObject({ kind: "completed", output: 2 });
  });

  test("serves each endpoint on its own", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const one = await host.readyWorker();
    const other = { ...one, workerId: "worker-2", endpointId: "endpoint-2" };
    host.edge.assign(one, other);
    await host.edge.worker("worker-2", "ready");
    host.edge.submit("endpoint-2", { id: "job-2", input: { mock_return: 2 } });
    host.edge.submit("endpoint-1", { id: "job-1", input: { mock_return: 1 } });

    expect(await host.edge.report("job-1")).toMatchObject({ workerId: "worker-1" });
    expect(await host.edge.report("job-2")).toMatchObject({ workerId: "worker-2" });
  });
});
