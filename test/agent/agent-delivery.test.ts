import { describe, test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { RawWorker } from "../support/raw-worker.ts";

describe("delivery to a worker", () => {
  test("waits for the next poll when the polling peer has vanished", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await RawWorker.start(host);
    const gone = new AbortController();
    const abandoned = worker.take("&job_in_progress=0", gone.signal).catch(() => "gone");
    await host.edge.offered("endpoint-1", "worker-1");
    gone.abort();
    expect(await abandoned).toBe("gone");

    host.edge.submit("endpoint-1", { id: "job-1", input: { text: "kept" } });
    const taken = await worker.take();
    expect(await taken.json()).toEqual({ id: "job-1", input: { text: "kept" } });
  });

  test("is tried again when the peer vanished in the middle of the reply", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await RawWorker.start(host);
    const socket = await worker.takeAndNeverRead();
    await host.edge.offered("endpoint-1", "worker-1");
    const input = "x".repeat(9_000_000);
    host.edge.submit("endpoint-1", { id: "job-1", input });
    await host.edge.held("job-1");
    socket.destroy();
    await host.logged("job_delivery_failed");

    const taken: unknown = await (await worker.take()).json();
    expect(taken).toEqual({ id: "job-1", input });
    expect(await worker.done("job-1", '{"output":1}')).toBe(200);
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", attempt: 1 });
  });

  test("counts as lost when the worker asks again with nothing in progress and no result", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_unserialisable: true } });

    expect(await host.edge.report("job-1")).toMatchObject({
      kind: "lost",
      reason: expect.stringContaining("a value that JSON cannot encode"),
    });
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    expect(await host.edge.report("job-2")).toMatchObject({ kind: "completed" });
  });

  test("is not doubted because pings are silent or a poll says that a job runs", async ({ expect }) => {
    await using host = await AgentFixture.start({ pollHoldMs: 100 });
    const worker = await RawWorker.start(host);
    const first = worker.takeUntilThere(() => worker.takeBatch(2));
    await host.edge.offered("endpoint-1", "worker-1", 2);
    host.edge.submit("endpoint-1", { id: "job-1", input: {} });
    expect(await first).toMatchObject({ id: "job-1" });
    await worker.ping("");
    await worker.ping("");
    expect((await worker.take("&job_in_progress=1")).status).toBe(204);
    expect((await worker.take("&job_in_progress=0")).status).toBe(204); // may still be queued inside

    expect(await worker.done("job-1", '{"output":"late but there"}')).toBe(200);
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: "late but there" });
  });

  test("counts as lost when pings named the job and then twice do not", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await RawWorker.start(host);
    const first = worker.takeBatch(2);
    await host.edge.offered("endpoint-1", "worker-1", 2);
    host.edge.submit("endpoint-1", { id: "job-1", input: {} });
    await (await first).text();
    await worker.ping("&job_id=job-1,other");
    await worker.ping("&job_id=other");
    await worker.ping("&job_id=other");

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "lost" });
  });

  test("continues while a separate process sends the pings", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_PINGS: "process" } });
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_delay: 0.3, mock_return: 1 } });
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed" });
  });
});

describe("the server for workers", () => {
  test("answers a wrong token slowly with 404, and does not tell a wrong worker from a wrong token", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start({ errorDelayMs: 200 });
    const worker = await RawWorker.start(host);
    const [, token] = worker.takeUrl.pathname.split("/");
    const startedAt = performance.now();
    const statuses = await Promise.all(
      [`/${token}x/job-take/worker-1`, `/${token}/job-take/worker-2`, `/${token}/admin/worker-1`, "/"].map(
        async (path) => (await fetch(new URL(path, worker.takeUrl))).status,
      ),
    );
    expect(statuses).toEqual([404, 404, 404, 404]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(195);
    expect(JSON.stringify(host.events)).not.toContain(token);
  });

  test("does not let a worker call on behalf of another worker of the host", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const victim = await RawWorker.start(host);
    const idle = { env: { MOCK_NEVER_TAKE: "1" } };
    host.edge.assign(assignment(idle), assignment({ ...idle, workerId: "worker-2" }));
    await host.logged("worker_started", 2);
    const [, token] = new URL(host.env("worker-2", "RUNPOD_WEBHOOK_GET_JOB")).pathname.split("/");
    host.edge.submit("endpoint-1", { id: "job-1", input: {} });
    expect(await victim.takeUntilThere()).toMatchObject({ id: "job-1" });
    const attempts = ["job-take/worker-1", "job-stop/worker-1", "ping/worker-1", "job-done/worker-1/job-1"];
    for (const route of attempts) {
      const isResult = route.startsWith("job-done");
      const how = isResult ? { method: "POST", body: '{"output":"stolen"}' } : {};
      const url = (whose: string | undefined) => new URL(`/${whose}/${route}?x=1`, victim.takeUrl);
      expect((await fetch(url(token), how)).status, route).toBe(404);
    }
    await victim.done("job-1", '{"output":"its own"}');
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: "its own" });
  });

  test("holds a poll and then answers that there is no job", async ({ expect }) => {
    await using host = await AgentFixture.start({ pollHoldMs: 150 });
    const worker = await RawWorker.start(host);
    const startedAt = performance.now();
    expect((await worker.take()).status).toBe(204);
    // With nothing at all the SDK would rest for a second, in which it could not be told to stop.
    expect(await (await worker.pollStops()).json()).toEqual({ jobsToStop: ["none"] });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(295);
  });

  test("takes results of jobs that it does not know, and drops them", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await RawWorker.start(host);
    expect(await worker.done("unknown", '{"output":1}')).toBe(200);
    expect((await host.logged("result_dropped")).fields).toEqual({ jobId: "unknown" });
    expect(host.edge.reportsOf("unknown")).toEqual([]);
  });

  test("makes a failure of a result that is not JSON", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await RawWorker.start(host);
    const taken = worker.take();
    await host.edge.offered("endpoint-1", "worker-1");
    host.edge.submit("endpoint-1", { id: "job-1", input: {} });
    await (await taken).text();
    expect(await worker.done("job-1", '{"output": NaN}')).toBe(200);
    expect(await host.edge.report("job-1")).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("NaN"),
    });
  });
});
