/** What handlers yield, on its way to the edge: in order, whole, and before the job's end. */
import { describe, test } from "vitest";
import { CHUNK_MAX_BYTES } from "../../src/contract/limits.ts";
import { AgentFixture } from "../support/agent-fixture.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { Gate } from "../support/gate.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("what a handler yields", () => {
  test("reaches the edge in order and whole before the report", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const input = { mock_stream: ["a", { token: "b" }, 3, null, ...numbers(300)] };
    host.edge.submit(worker.endpointId, { id: "job-1", input });

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: [] });
    expect(host.edge.chunksOf("job-1")).toEqual(input.mock_stream);
    const batches = host.edge.exchanges.filter(({ request }) => request.chunks.length > 0);
    expect(batches.length).toBeLessThan(input.mock_stream.length);
  });

  test("is sent while the handler runs", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, {
      id: "job-1",
      input: { mock_stream: ["first"], mock_stream_pause: 3_600 },
    });
    expect(await host.edge.until(() => host.edge.chunksOf("job-1")[0])).toBe("first");
    expect(host.edge.reportsOf("job-1")).toEqual([]);
    host.edge.stop("job-1");
    await host.logged("job_stopped");
  });

  test("is sent again when the reply was lost, and the report waits for it", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.behaviour.lostChunkReplies = 3;
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_stream: numbers(50) } });

    await host.edge.report("job-1");
    expect(host.edge.behaviour.lostChunkReplies).toBe(0);
    expect(host.edge.chunksOf("job-1")).toEqual(numbers(50));
  });

  test("is stored while the edge cannot be reached", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, {
      id: "job-1",
      input: { mock_stream: numbers(40), mock_stream_pause: 0.01 },
    });
    await host.edge.until(() => host.edge.chunksOf("job-1").length > 3);
    host.edge.goOffline();
    await host.logged("edge_unreachable");
    host.edge.goOnline();

    await host.edge.report("job-1");
    expect(host.edge.chunksOf("job-1")).toEqual(numbers(40));
  });

  test("is dropped for an edge without streams; the report still arrives", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.behaviour.supportsStreams = false;
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_stream: ["a"] } });
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed" });
  });

  test("is sent in pieces when it is a long string", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const input = { mock_stream: [], mock_stream_size: 3 * CHUNK_MAX_BYTES };
    host.edge.submit(worker.endpointId, { id: "job-1", input });

    await host.edge.report("job-1");
    const pieces = host.edge.chunksOf("job-1");
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.map(String).join("")).toBe("x".repeat(3 * CHUNK_MAX_BYTES));
  });

  test("fails the job when it is large and cannot be cut", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const input = { mock_stream: ["fine", ["x".repeat(CHUNK_MAX_BYTES)], "more"], mock_stream_pause: 0.01 };
    host.edge.submit(worker.endpointId, { id: "job-1", input });

    expect(await host.edge.report("job-1")).toMatchObject({
      kind: "failed",
      error: expect.stringMatching(/\b1000004\b.*\b1000000\b/),
    });
    expect(host.edge.chunksOf("job-1")).toEqual(["fine"]);
  });
});

describe("an agent that is killed in the middle of a stream", () => {
  test("continues with the next number; nothing is lost or duplicated", async ({ expect }) => {
    await using host = await AgentFixture.create();
    const settings = { edgeUrl: host.edge.url, stateDir: host.stateDir };
    await using first = AgentProcess.start(settings);
    const worker = await host.readyWorker();
    // It yields nothing while no agent runs: a post that finds nobody is lost, as with the SDK.
    const gate = new Gate(host.stateDir);
    const rest = { mock_until_rest: gate.file, mock_stream_rest: ["then", "more"] };
    const input = { mock_stream: numbers(20), ...rest };
    host.edge.submit(worker.endpointId, { id: "job-1", input });
    await host.edge.until(() => host.edge.chunksOf("job-1").length === 20);
    await first.kill();

    await using second = AgentProcess.start(settings, {});
    await second.printed("connected");
    gate.open();
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", attempt: 1 });
    expect(host.edge.chunksOf("job-1")).toEqual([...numbers(20), "then", "more"]);
  });

  test("sends what it had not sent", async ({ expect }) => {
    await using host = await AgentFixture.create();
    const settings = { edgeUrl: host.edge.url, stateDir: host.stateDir };
    await using first = AgentProcess.start(settings);
    const worker = await host.readyWorker();
    const gate = new Gate(host.stateDir);
    host.edge.submit(worker.endpointId, {
      id: "job-1",
      input: { mock_until: gate.file, mock_stream: numbers(30) },
    });
    await host.edge.held("job-1");
    host.edge.goOffline();
    gate.open();
    await first.logged("job_reported", "job-1");
    await first.kill();
    host.edge.goOnline();

    await using second = AgentProcess.start(settings, {});
    await second.printed("connected");
    await host.edge.until(() => host.edge.chunksOf("job-1").length === 30);
    expect(host.edge.chunksOf("job-1")).toEqual(numbers(30));
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed" });
  });
});
