/** Logs: what workers print and what happens to them reaches the edge, each line once, whatever fails. */
import { LOG_BURST_BYTES } from "../../node-agent/logs/worker-logs.ts";
import { describe, test } from "vitest";
import { LOG_LINE_MAX_BYTES, type LogLine } from "../../src/contract/agent/log.ts";
import { AgentFixture } from "../support/agent-fixture.ts";
import type { ScriptedEdge } from "../support/scripted-edge.ts";
import { until } from "../support/until.ts";
import { Gate } from "../support/gate.ts";

const ENDPOINT = "endpoint-1";

/** What the worker has printed, as the edge shows it: what comes twice has the same number. */
const printed = (edge: ScriptedEdge): string[] => [
  ...new Map(edge.logLines({ source: "container" }).map(({ seq, line }) => [seq, line])).values(),
];

function lineOf(edge: ScriptedEdge, text: string, options?: { isLive?: boolean }): Promise<LogLine> {
  return edge.until(() => edge.logLines(options).find(({ line }) => line.includes(text)));
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index + 1}`);

describe("lines of a worker", () => {
  test("reach the edge with their job, and so does what happens to the worker", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    const json = '{"requestId": "other", "message": "Started.", "level": "INFO"}';
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: ["hello", json] } });
    const line = await lineOf(edge, "hello");
    expect(line).toMatchObject({ source: "container", line: "hello", jobId: "job-1" });
    expect(Math.abs(line.seq / 1_000 - Date.now())).toBeLessThan(20_000);
    expect(await lineOf(edge, "Started.")).toMatchObject({ jobId: "other", level: "INFO", line: json });
    const events = edge.logLines({ source: "system" }).map((event) => event.line);
    expect(events).toEqual(["Assigned to this host.", "The worker was started.", "Ready: it asks for jobs."]);
  });

  test("of a crash reach the edge even when its container is removed", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: ["last words"], mock_crash: 3 } });
    await lineOf(edge, "last words");
    await lineOf(edge, "the handler crashes now");
    expect((await lineOf(edge, "Failed: ")).line).toContain("exited with code 3");
    expect(await lineOf(edge, "Job job-1 was lost")).toMatchObject({ source: "system", jobId: "job-1" });
  });

  test("show no secret, nor does the reason of a crash", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    const secret = "correct horse battery";
    await fixture.readyWorker({ env: { MOCK_STDERR_LINE: `key=${secret}!` }, masked: [secret, "short"] });
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: [`${secret} is short`], mock_crash: 1 } });
    expect((await lineOf(edge, "is short")).line).toBe("[secret] is short");
    await lineOf(edge, "Failed: ");
    expect(JSON.stringify(edge.logRequests)).not.toContain(secret);
    expect(JSON.stringify(edge.syncs)).not.toContain(secret);
  });

  test("that are too long are cut, with a mark", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    const long = "x".repeat(3 * LOG_LINE_MAX_BYTES);
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: [long, "after"] } });
    await lineOf(edge, "after");
    expect(printed(edge)).toEqual([`${long.slice(0, LOG_LINE_MAX_BYTES)} … (cut)`, "after"]);
  });

  test("are numbered by time, and grow", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print_count: 2_000 } });
    await lineOf(edge, "line 2000");
    expect(printed(edge)).toEqual(numbers(2_000));
    const seqs = edge.logLines({ source: "container" }).map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((one, other) => one - other));
  });

  test("that are too many are counted instead of sent", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    const count = 100_000;
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print_count: count } });
    const missing = () =>
      edge
        .logLines({ source: "system" })
        .map(({ line }) => Number(/^(\d+) lines are missing here/.exec(line)?.[1] ?? 0))
        .reduce((sum, lost) => sum + lost, 0);
    await edge.until(() => printed(edge).length + missing() >= count);
    expect(printed(edge).length + missing()).toBe(count);
    expect(JSON.stringify(edge.logRequests).length).toBeLessThan(4 * LOG_BURST_BYTES);
  });
});

describe("an agent that is restarted", () => {
  test("continues reading after the lines that the edge has, without duplicates", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge, stateDir } = fixture;
    const { workerId } = await fixture.readyWorker();
    const [gate, end] = [new Gate(stateDir), new Gate(stateDir)];
    const input = { mock_print: ["before"], mock_until: gate.file, mock_print_then: ["meanwhile"] };
    edge.submit(ENDPOINT, { id: "job-1", input: { ...input, mock_until_rest: end.file } });
    await lineOf(edge, "before");
    await fixture.stopAgent();
    gate.open();
    const runtime = fixture.runtime();
    await expect.poll(() => runtime.lastLines(workerId, 1)).toEqual(["meanwhile"]);
    await runtime.close();
    await fixture.startAgent();
    await lineOf(edge, "meanwhile");
    end.open();
    edge.submit(ENDPOINT, { id: "job-2", input: { mock_print: ["after"] } });
    await lineOf(edge, "after");
    expect(printed(edge)).toEqual(["before", "meanwhile", "after"]);
    expect(await lineOf(edge, "The agent was restarted")).toMatchObject({ source: "system" });
  });

  test("reads again what an agent that died had not handed over", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: ["kept"] } });
    await lineOf(edge, "kept");
    const release = edge.gateLogs();
    edge.submit(ENDPOINT, { id: "job-2", input: { mock_print: ["in flight"] } });
    await lineOf(edge, "in flight");
    await fixture.stopAgent(); // its call never gets an answer
    release();
    edge.logRequests.length = 0;
    await fixture.startAgent();
    await lineOf(edge, "in flight");
    expect(printed(edge)).toEqual(["in flight"]);
  });
});

describe("an edge that is not there", () => {
  test("gets the lines when it is back", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: ["one"] } });
    await edge.report("job-1");
    edge.goOffline();
    await edge.until(() => edge.attempted > 0);
    edge.goOnline();
    await lineOf(edge, "one");
    expect(printed(edge)).toEqual(["one"]);
  });
});

describe("while a client follows", () => {
  test("lines are sent at once, and are stored later as well", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: ["kept before"] } });
    await lineOf(edge, "kept before");
    edge.setFollow(7);
    await lineOf(edge, "kept before", { isLive: true }); // it was kept only a moment ago
    edge.submit(ENDPOINT, { id: "job-2", input: { mock_print: ["live"] } });
    await lineOf(edge, "live", { isLive: true });
    expect(printed(edge)).not.toContain("live");
    await edge.until(() => printed(edge).includes("live"));
    edge.setFollow(8);
    await edge.until(() => edge.logLines({ isLive: true }).filter(({ line }) => line === "live")[1]);
  });

  test("it gets the last lines of a worker that was removed a moment ago", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    const { workerId } = await fixture.readyWorker();
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: ["last words"] } });
    await lineOf(edge, "last words");
    await fixture.readyWorker({ workerId: `${workerId}-2` });
    await lineOf(edge, "Removed from this host.");
    edge.setFollow(7);
    expect(await lineOf(edge, "last words", { isLive: true })).toMatchObject({ source: "container" });
  });

  test("lines that may not have come to it are sent at once again", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    edge.setFollow(7);
    await lineOf(edge, "Ready", { isLive: true });
    const release = edge.gateLogs();
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: ["unanswered"] } });
    await lineOf(edge, "unanswered", { isLive: true });
    edge.goOffline();
    edge.goOnline();
    edge.logRequests.length = 0;
    release();
    const sentAgain = () => edge.logLines({ isLive: true }).find(({ line }) => line === "unanswered");
    expect(await until(sentAgain, "the line is sent again")).toMatchObject({ source: "container" });
    expect(edge.logRequests.find(({ isLive }) => isLive)?.workers).toMatchObject([{ follow: 7 }]);
  });

  test("no live line is sent after the last follower has left", async ({ expect }) => {
    await using fixture = await AgentFixture.start();
    const { edge } = fixture;
    await fixture.readyWorker();
    edge.setFollow(7);
    await lineOf(edge, "Ready", { isLive: true });
    edge.setFollow(0);
    await edge.until(() => edge.exchanges.at(-1)?.request.follow === 0);
    edge.submit(ENDPOINT, { id: "job-1", input: { mock_print: ["unwatched"] } });
    await edge.until(() => printed(edge).includes("unwatched"));
    expect(edge.logLines({ isLive: true }).map(({ line }) => line)).not.toContain("unwatched");
  });
});
