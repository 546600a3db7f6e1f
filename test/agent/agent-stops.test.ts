import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";

describe("a job that is not wanted any more", () => {
  test("is stopped by its own handler, and the worker goes on without a restart", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_never: true } });
    await host.edge.held("job-1");
    await host.logged("job_delivered");
    host.edge.stop("job-1");
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });

    expect(await host.edge.report("job-2")).toMatchObject({ kind: "completed", output: 2 });
    expect(host.edge.reportsOf("job-1")).toEqual([]);
    expect(host.count("worker_recreated")).toBe(0);
  });

  test("costs the container when its handler blocks and no other job runs", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_block: true } });
    await host.logged("job_delivered");
    await host.edge.held("job-1");
    host.edge.stop("job-1");

    expect((await host.logged("worker_recreated")).fields).toMatchObject({ reason: "hard_stop" });
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    expect(await host.edge.report("job-2")).toMatchObject({ kind: "completed", output: 2 });
    expect(host.edge.reportsOf("job-1")).toEqual([]);
  });

  test("runs on beside a job that is wanted, and its result is discarded", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_CONCURRENCY: "2" } });
    await host.edge.offered(worker.endpointId, worker.workerId, 2);
    host.edge.submit(worker.endpointId, { id: "blocked", input: { mock_block: true } });
    host.edge.submit(worker.endpointId, { id: "wanted", input: { mock_delay: 1.5, mock_return: "kept" } });
    await host.logged("job_delivered", 2);
    await host.edge.held("blocked");
    host.edge.stop("blocked");

    expect(await host.edge.report("wanted")).toMatchObject({ kind: "completed", output: "kept" });
    await host.logged("worker_recreated"); // nothing wanted runs any more
    expect(host.edge.reportsOf("blocked")).toEqual([]);
  });

  test("is cancelled in a worker with several slots without a restart", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_CONCURRENCY: "3" } });
    await host.edge.offered(worker.endpointId, worker.workerId, 3);
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_never: true } });
    await host.logged("job_delivered");
    await host.edge.offered(worker.endpointId, worker.workerId, 2);
    host.edge.stop("job-1");

    await host.edge.offered(worker.endpointId, worker.workerId, 3);
    expect(host.count("worker_recreated")).toBe(0);
  });
});

describe("a job that runs longer than its executionTimeout", () => {
  test("is reported as timed out at once, and its handler is stopped", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, {
      id: "job-1",
      input: { mock_never: true },
      executionTimeoutMs: 100,
    });

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "timed_out", workerId: "worker-1" });
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    expect(await host.edge.report("job-2")).toMatchObject({ kind: "completed" });
    expect(host.count("worker_recreated")).toBe(0);
  });

  test("and blocks costs the container", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const input = { mock_block: true };
    host.edge.submit(worker.endpointId, { id: "job-1", input, executionTimeoutMs: 100 });

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "timed_out" });
    await host.logged("worker_recreated");
    expect(host.edge.reportsOf("job-1")).toHaveLength(1);
  });
});
