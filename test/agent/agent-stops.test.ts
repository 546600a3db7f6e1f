import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";
import { Gate } from "../support/gate.ts";
import { RawWorker } from "../support/raw-worker.ts";

/** For handlers that obey, on a machine however slow. */
const NEVER_OVERSTAYS = { stopGraceMs: 3_600_000 };

describe("a job that the edge stops", () => {
  test("is stopped by its own handler, and the worker continues without a restart", async ({ expect }) => {
    await using host = await AgentFixture.start(NEVER_OVERSTAYS);
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

  test("gets its stop again when the worker may not have begun the job", async ({ expect }) => {
    // Long enough for the first telling on a slow machine.
    const begunAfterMs = 2_000;
    const pollHoldMs = 5_000;
    await using host = await AgentFixture.start({ ...NEVER_OVERSTAYS, begunAfterMs, pollHoldMs });
    const worker = await RawWorker.start(host);
    const taken = worker.takeUntilThere();
    await host.edge.offered("endpoint-1", "worker-1");
    host.edge.submit("endpoint-1", { id: "job-1", input: {} });
    await taken;
    await host.edge.held("job-1");
    host.edge.stop("job-1");
    await host.logged("job_stopped");

    const told = async (): Promise<unknown> => (await worker.pollStops()).json();
    expect(await told()).toEqual({ jobsToStop: ["job-1"] });
    expect(await told()).toEqual({ jobsToStop: ["job-1"] });
    // A third telling could disturb a handler that cleans up.
    expect(await told()).toEqual({ jobsToStop: ["none"] });
  });

  test("is one of many, and no stop waits for an earlier one", async ({ expect }) => {
    await using host = await AgentFixture.start({
      ...NEVER_OVERSTAYS,
      edgeRetryBaseMs: 60_000,
      edgeRetryCapMs: 60_000,
    });
    const worker = await host.readyWorker({ env: { MOCK_CONCURRENCY: "20" } });
    await host.edge.offered(worker.endpointId, worker.workerId, 20);
    const ids = Array.from({ length: 20 }, (_, index) => `job-${index}`);
    host.edge.submit(worker.endpointId, ...ids.map((id) => ({ id, input: { mock_never: true } })));
    for (const [index, id] of ids.entries()) {
      await host.edge.held(id);
      host.edge.stop(id);
      await host.logged("job_stopped", index + 1);
    }
    expect(host.count("worker_recreated")).toBe(0);
  });

  test("and does not end keeps further jobs out, and costs the container once its neighbours have ended", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_CONCURRENCY: "4" } });
    await host.edge.offered(worker.endpointId, worker.workerId, 4);
    const neighbours = ["one", "two"];
    const gate = new Gate(host.stateDir);
    host.edge.submit(
      worker.endpointId,
      { id: "blocked", input: { mock_block: true } },
      ...neighbours.map((id) => ({ id, input: { mock_until: gate.file, mock_return: id } })),
    );
    await host.logged("job_delivered", 3);
    await host.edge.held("blocked");
    await host.edge.offered(worker.endpointId, worker.workerId, 1);
    host.edge.stop("blocked");
    await host.logged("job_overstays");
    await host.edge.until(() => host.edge.exchanges.at(-1)?.request.slots.length === 0);
    host.edge.submit(worker.endpointId, { id: "next", input: { mock_return: "next" } });
    expect(host.count("worker_recreated")).toBe(0);
    gate.open();

    for (const id of neighbours) {
      expect(await host.edge.report(id)).toMatchObject({ kind: "completed", output: id });
    }
    expect((await host.logged("worker_recreated")).fields).toMatchObject({ reason: "hard_stop" });
    expect(host.count("job_delivered")).toBe(3);
    expect(await host.edge.report("next")).toMatchObject({ kind: "completed", attempt: 1 });
    expect(host.edge.reportsOf("blocked")).toEqual([]);
  });

  test("and ends late gives its slot back, and the container lives on", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_CONCURRENCY: "2" } });
    await host.edge.offered(worker.endpointId, worker.workerId, 2);
    const [deaf, neighbour] = [new Gate(host.stateDir), new Gate(host.stateDir)];
    host.edge.submit(
      worker.endpointId,
      { id: "deaf", input: { mock_deaf: deaf.file } },
      { id: "neighbour", input: { mock_until: neighbour.file, mock_return: "kept" } },
    );
    await host.logged("job_delivered", 2);
    await host.edge.held("deaf");
    host.edge.stop("deaf");
    await host.logged("job_overstays");
    deaf.open();

    expect((await host.logged("result_dropped")).fields).toEqual({ jobId: "deaf" });
    host.edge.submit(worker.endpointId, { id: "next", input: { mock_return: "next" } });
    expect(await host.edge.report("next")).toMatchObject({ kind: "completed" });
    neighbour.open();
    expect(await host.edge.report("neighbour")).toMatchObject({ kind: "completed", output: "kept" });
    expect(host.count("worker_recreated")).toBe(0);
    expect(host.edge.reportsOf("deaf")).toEqual([]);
  });

  test("runs on beside a job that is wanted, and its result is discarded", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_CONCURRENCY: "2" } });
    await host.edge.offered(worker.endpointId, worker.workerId, 2);
    host.edge.submit(worker.endpointId, { id: "blocked", input: { mock_block: true } });
    const gate = new Gate(host.stateDir);
    host.edge.submit(worker.endpointId, {
      id: "wanted",
      input: { mock_until: gate.file, mock_return: "kept" },
    });
    await host.logged("job_delivered", 2);
    await host.edge.held("blocked");
    host.edge.stop("blocked");
    await host.logged("job_overstays");
    expect(host.count("worker_recreated")).toBe(0);
    gate.open();

    expect(await host.edge.report("wanted")).toMatchObject({ kind: "completed", output: "kept" });
    await host.logged("worker_recreated"); // nothing wanted runs any more
    expect(host.edge.reportsOf("blocked")).toEqual([]);
  });

  test("and blocks does not count as ended, even when an older poll delivered it", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_CONCURRENCY: "2" } });
    await host.edge.offered(worker.endpointId, worker.workerId, 2);
    const gate = new Gate(host.stateDir);
    host.edge.submit(worker.endpointId, { id: "first", input: { mock_until: gate.file } });
    await host.logged("job_delivered");
    await host.edge.offered(worker.endpointId, worker.workerId, 1);
    gate.open();
    await host.edge.report("first");
    host.edge.submit(worker.endpointId, { id: "blocked", input: { mock_block: true } });
    await host.logged("job_delivered", 2);
    await host.edge.held("blocked");
    host.edge.stop("blocked");
    await host.logged("job_overstays");
    expect((await host.logged("worker_recreated")).fields).toMatchObject({ reason: "hard_stop" });
  });

  test("is cancelled in a worker with several slots without a restart", async ({ expect }) => {
    await using host = await AgentFixture.start(NEVER_OVERSTAYS);
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
    await using host = await AgentFixture.start(NEVER_OVERSTAYS);
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
