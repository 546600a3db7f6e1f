/** Workers whose process lives, but that do not work: each is found out, ended and started again. */
import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";
import { RawWorker } from "../support/raw-worker.ts";

describe("a worker that has taken jobs and stops polling", () => {
  test("is ended after a time, called unhealthy with the reason, and started again", async ({ expect }) => {
    await using host = await AgentFixture.start({ silenceLimitMs: 500, pollHoldMs: 100 });
    const worker = await RawWorker.start(host);
    expect((await worker.take()).status).toBe(204);
    const report = await host.edge.worker("worker-1", "unhealthy");
    expect(report.detail).toMatch(
      /^took jobs, but has asked for none for 1 s though it had none: .*starts again in/,
    );
    expect(report.failing).toMatchObject({ times: 1 });
    await host.logged("worker_started", 2);
  });

  test("is left alone while it has a job, however long that takes", async ({ expect }) => {
    await using host = await AgentFixture.start({ silenceLimitMs: 200, pollHoldMs: 50 });
    const { endpointId } = await host.readyWorker();
    host.edge.submit(endpointId, { id: "job-1", input: { mock_delay: 1, mock_return: "late" } });
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: "late" });
    expect(host.count("worker_failed")).toBe(0);
  });
});

describe("a worker whose results do not arrive", () => {
  test("loses its jobs, and is replaced after three in a row", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const { endpointId } = await host.readyWorker();
    for (const id of ["job-1", "job-2", "job-3"]) {
      host.edge.submit(endpointId, { id, input: { mock_unserialisable: 1 } });
      expect(await host.edge.report(id)).toMatchObject({ kind: "lost" });
    }
    const { detail } = await host.edge.worker("worker-1", "unhealthy");
    expect(detail).toMatch(/^posted no result for 3 jobs one after the other; .*starts again in/);
    await host.logged("worker_ready", 2);
  });

  test("is kept when it posts one in between", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const { endpointId } = await host.readyWorker();
    const inputs = [{ mock_unserialisable: 1 }, { mock_unserialisable: 1 }, { mock_return: 1 }];
    for (const [index, input] of [...inputs, ...inputs].entries()) {
      host.edge.submit(endpointId, { id: `job-${index}`, input });
      await host.edge.report(`job-${index}`);
    }
    expect(host.count("worker_failed")).toBe(0);
  });
});
