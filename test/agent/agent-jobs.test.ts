import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";

describe("a job", () => {
  test("travels to a worker and its result back to the edge", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();

    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: { text: "héllo", n: 1 } } });

    expect(await host.edge.report("job-1")).toEqual({
      kind: "completed",
      jobId: "job-1",
      attempt: 1,
      workerId: "worker-1",
      output: { text: "héllo", n: 1 },
    });
  });

  test("with an empty input is delivered as it is", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "empty", input: {} });
    host.edge.submit(worker.endpointId, { id: "null", input: null });

    expect(await host.edge.report("empty")).toMatchObject({ kind: "completed", output: {} });
    expect(await host.edge.report("null")).toMatchObject({ kind: "completed" });
  });

  test("whose handler fails is reported with its error, also when that is no text", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "text", input: { mock_error: "bad weights" } });
    host.edge.submit(worker.endpointId, { id: "object", input: { mock_error_value: { code: 7 } } });

    expect(await host.edge.report("text")).toMatchObject({ kind: "failed", error: "bad weights" });
    expect(await host.edge.report("object")).toMatchObject({ kind: "failed", error: '{"code":7}' });
  });

  test("is held by the agent from its arrival until the edge acknowledged its report", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const open = host.edge.gateReports();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: 1 } });
    await host.edge.report("job-1");
    expect((await host.edge.held("job-1")).held).toHaveLength(1);
    open();

    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    await host.edge.report("job-2");
    await host.edge.until(() =>
      host.edge.exchanges.at(-1)?.request.held.every(({ jobId }) => jobId !== "job-1"),
    );
    expect(host.edge.reportsOf("job-1")).toHaveLength(1);
  });

  test("that the edge no longer wants is dropped when it refuses the report", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.behaviour.outcomeOf = () => "refused";
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: 1 } });

    expect((await host.logged("report_refused")).fields).toMatchObject({ jobId: "job-1", attempt: 1 });
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    await host.edge.report("job-2");
    expect(host.edge.reportsOf("job-1")).toHaveLength(1);
  });

  test("shows its progress while it runs, and late progress changes nothing", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const input = { mock_progress: [{ percent: 50 }], mock_never: true };
    host.edge.submit(worker.endpointId, { id: "slow", input });

    const held = await host.edge.until(() =>
      host.edge.exchanges.at(-1)?.request.held.find((one) => one.progress !== undefined),
    );
    expect(held).toMatchObject({ jobId: "slow", progress: { percent: 50 } });

    const other = await host.readyWorker({ workerId: "worker-2", endpointId: "endpoint-2" });
    host.edge.submit(other.endpointId, { id: "late", input: { mock_return: 1, mock_late_progress: true } });
    await host.edge.report("late");
    expect((await host.logged("result_dropped")).fields).toEqual({ jobId: "late" });
    expect(host.edge.reportsOf("late")).toHaveLength(1);
  });

  test("that posts two results keeps the first", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: 1, mock_twice: true } });

    await host.edge.report("job-1");
    expect((await host.logged("result_dropped")).fields).toEqual({ jobId: "job-1" });
    expect(host.edge.reportsOf("job-1")).toMatchObject([{ kind: "completed", output: 1 }]);
  });

  test("follows the last one in the round trip that reported it", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_LOOK_MS: "0" } });
    const isTogether = () =>
      host.edge.exchanges.some(({ request }) => request.reports.length > 0 && request.slots.length > 0);
    // A busy machine may run the worker too late for the round trip, again and again.
    for (let number = 1; number <= 500 && !isTogether(); number += 1) {
      host.edge.submit(worker.endpointId, { id: `job-${number}`, input: { mock_return: number } });
      await host.edge.report(`job-${number}`);
    }
    expect(isTogether()).toBe(true);
  });
});

describe("a worker with several slots", () => {
  test("gets a batch and posts each result", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_CONCURRENCY: "3" } });
    await host.edge.offered(worker.endpointId, worker.workerId, 3);
    const open = host.edge.gateReports();
    host.edge.submit(worker.endpointId, { id: "a", input: { mock_delay: 0.2, mock_return: "a" } });
    host.edge.submit(worker.endpointId, { id: "b", input: { mock_return: "b" } });
    host.edge.submit(worker.endpointId, { id: "c", input: { mock_return: "c" } });
    open();

    for (const id of ["a", "b", "c"]) {
      expect(await host.edge.report(id)).toMatchObject({ kind: "completed", output: id });
    }
  });
});
