import { describe, test } from "vitest";
import { INLINE_PAYLOAD_MAX_BYTES, RESULT_MAX_BYTES } from "../../src/contract/limits.ts";
import { AgentFixture } from "../support/agent-fixture.ts";
import { AgentProcess } from "../support/agent-process.ts";

const LARGE = INLINE_PAYLOAD_MAX_BYTES + 1;
/** JSON text of what a worker returns that is asked for so many bytes of text. */
const resultOf = (characters: number) => `"${"x".repeat(characters)}"`;

describe("a large result", () => {
  test("is uploaded separately before its report names it", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_size: LARGE } });

    expect(await host.edge.report("job-1")).toEqual({
      kind: "completed",
      jobId: "job-1",
      attempt: 1,
      workerId: "worker-1",
      upload: { sizeBytes: LARGE + 2 },
    });
    expect(host.edge.uploads).toEqual([{ jobId: "job-1", attempt: 1, result: resultOf(LARGE) }]);
  });

  test("may have as many bytes as the limit; one more byte fails the job with a reason", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(
      worker.endpointId,
      { id: "largest", input: { mock_size: RESULT_MAX_BYTES - 2 } },
      { id: "too-large", input: { mock_size: RESULT_MAX_BYTES - 1 } },
    );

    expect(await host.edge.report("largest")).toMatchObject({ upload: { sizeBytes: RESULT_MAX_BYTES } });
    expect(await host.edge.report("too-large")).toMatchObject({
      kind: "failed",
      error: expect.stringMatching(/\b20000001\b.*\b20000000\b/),
    });
  });

  test("of a failed job goes the same way", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const input = { mock_error: "half done", mock_output_size: LARGE };
    host.edge.submit(worker.endpointId, { id: "job-1", input });

    const upload = { sizeBytes: LARGE + 2 };
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "failed", error: "half done", upload });
  });

  test("is held until its report is acknowledged, also while it is uploaded", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const open = host.edge.gateUploads();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_size: LARGE } });
    await host.edge.until(() => host.edge.uploads[0]);
    const seen = host.edge.exchanges.length;
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    await host.edge.report("job-2");
    const after = host.edge.exchanges.slice(seen).map(({ request }) => request);
    expect(after.every(({ held }) => held.some(({ jobId }) => jobId === "job-1"))).toBe(true);
    open();
    await host.edge.report("job-1");
  });

  test("keeps its worker listed, though that has ended, until the edge has its report", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const open = host.edge.gateUploads();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_size: LARGE } });
    await host.edge.until(() => host.edge.uploads[0]);
    host.edge.assign();
    await host.logged("worker_removed");
    const seen = host.edge.syncs.length;
    const { workers } = await host.edge.until(() => host.edge.syncs[seen]);
    expect(workers).toMatchObject([{ workerId: "worker-1", state: "stopping" }]);
    open();
    await host.edge.report("job-1");
    await host.edge.workerGone("worker-1");
  });

  test("is uploaded again when the edge could not take it at first", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const accept = host.edge.behaviour.answerUpload;
    host.edge.behaviour.answerUpload = (upload) => (host.edge.uploads.length < 3 ? 503 : accept(upload));
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_size: LARGE } });

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed" });
    expect(host.edge.uploads).toHaveLength(3);
  });

  test("that cannot be brought holds up no other", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const accept = host.edge.behaviour.answerUpload;
    host.edge.behaviour.answerUpload = (upload) => (upload.jobId === "stuck" ? 503 : accept(upload));
    host.edge.submit(
      worker.endpointId,
      { id: "stuck", input: { mock_size: LARGE } },
      { id: "other", input: { mock_size: LARGE } },
    );

    expect(await host.edge.report("other")).toMatchObject({ kind: "completed" });
    expect(host.edge.reportsOf("stuck")).toEqual([]);
  });

  test("that the edge rejects is dropped and not reported", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.behaviour.answerUpload = () => ({ outcome: "refused" });
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_size: LARGE } });

    await host.logged("report_refused");
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    await host.edge.report("job-2");
    expect(host.edge.reportsOf("job-1")).toEqual([]);
  });

  test("that the edge will never take fails its job", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.behaviour.answerUpload = () => 413;
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_size: LARGE } });

    expect(await host.edge.report("job-1")).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("refused by the test"),
    });
    expect(host.edge.uploads).toHaveLength(1);
  });

  test("is uploaded and reported by the next agent when this one is killed between the two", async ({
    expect,
  }) => {
    await using host = await AgentFixture.create();
    const settings = { edgeUrl: host.edge.url, stateDir: host.stateDir };
    await using first = AgentProcess.start(settings);
    const worker = await host.readyWorker();
    const open = host.edge.gateUploads();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_size: LARGE } });
    await host.edge.until(() => host.edge.uploads[0]); // there, but the agent does not know
    await first.kill();
    open();

    await using second = AgentProcess.start(settings, {});
    await second.printed("connected");
    expect(await host.edge.report("job-1")).toMatchObject({ upload: { sizeBytes: LARGE + 2 } });
    expect(host.edge.uploads.map(({ result }) => result)).toEqual([resultOf(LARGE), resultOf(LARGE)]);
  });
});

describe("inputs", () => {
  test("of many megabytes reach the worker unchanged", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const text = `${"é\u{1f600}".repeat(500_000)}\n"\\`;
    host.edge.submit(
      worker.endpointId,
      { id: "job-1", input: { mock_return: text.length, text } },
      { id: "job-2", input: { echo: text, list: [1, null] } },
    );

    expect(await host.edge.report("job-1")).toMatchObject({ output: text.length });
    await host.edge.report("job-2");
    expect(JSON.parse(host.edge.uploads[0]?.result ?? "")).toEqual({ echo: text, list: [1, null] });
  });
});
