import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { Journal } from "../../node-agent/journal/journal.ts";
import { AgentFixture } from "../support/agent-fixture.ts";
import { AgentProcess, processesNaming } from "../support/agent-process.ts";
import { Gate } from "../support/gate.ts";
import { HOST_TOKEN, JOIN_TOKEN } from "../support/scripted-edge.ts";

function settingsOf(host: AgentFixture, ...flags: string[]) {
  return { edgeUrl: host.edge.url, stateDir: host.stateDir, flags };
}

describe("an agent that was killed", () => {
  test("between a result and its report delivers the result after its restart", async ({ expect }) => {
    await using host = await AgentFixture.create();
    await using first = AgentProcess.start(settingsOf(host));
    const worker = await host.readyWorker();
    const open = host.edge.gateReports();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: "kept" } });
    await host.edge.report("job-1"); // on its way, but never answered
    await first.kill();
    open();

    await using second = AgentProcess.start(settingsOf(host), {});
    await second.printed("connected");
    await host.edge.until(() => host.edge.reportsOf("job-1").length === 2);
    expect(host.edge.reportsOf("job-1")[1]).toMatchObject({ kind: "completed", attempt: 1, output: "kept" });
  });

  test("delivers the result even when the worker has died meanwhile", async ({ expect }) => {
    await using host = await AgentFixture.create();
    await using first = AgentProcess.start(settingsOf(host));
    const worker = await host.readyWorker();
    const open = host.edge.gateReports();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: "kept" } });
    await host.edge.report("job-1");
    await first.kill();
    const runtime = host.runtime();
    await runtime.remove(worker.workerId);
    await runtime.close();
    open();

    await using second = AgentProcess.start(settingsOf(host), {});
    await second.printed("connected");
    await host.edge.until(() => host.edge.reportsOf("job-1").length === 2);
    expect(host.edge.reportsOf("job-1")[1]).toMatchObject({ kind: "completed", output: "kept" });
  });

  test("adopts its workers, and a job that runs on completes", async ({ expect }) => {
    await using host = await AgentFixture.create();
    await using first = AgentProcess.start(settingsOf(host));
    const worker = await host.readyWorker();
    // It ends when an agent is there: a post that finds nobody is lost, as with the SDK.
    const gate = new Gate(host.stateDir);
    host.edge.submit(worker.endpointId, {
      id: "job-1",
      input: { mock_until: gate.file, mock_return: "done" },
    });
    await host.edge.held("job-1");
    await first.kill();
    const before = host.edge.exchanges.length;

    await using second = AgentProcess.start(settingsOf(host), {});
    const request = await host.edge.until(() => host.edge.exchanges[before]?.request);
    expect(request.previousSession).toBe(host.edge.exchanges[0]?.request.session);
    expect(request.held).toEqual([{ jobId: "job-1", attempt: 1, workerId: "worker-1" }]);
    gate.open();
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: "done", attempt: 1 });
    expect(second.stderr).toContain("worker_adopted");
    expect(second.stderr).not.toContain("worker_started");
  });

  test("reports attempts as lost whose worker died meanwhile, and restarts the worker", async ({
    expect,
  }) => {
    await using host = await AgentFixture.create();
    await using first = AgentProcess.start(settingsOf(host));
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_never: true } });
    await host.edge.held("job-1");
    await first.kill();
    const runtime = host.runtime();
    await runtime.stop(worker.workerId, 0);
    await runtime.close();

    await using second = AgentProcess.start(settingsOf(host), {});
    await second.printed("connected");
    expect(await host.edge.report("job-1")).toMatchObject({
      kind: "lost",
      reason: expect.stringContaining("while the agent of its host was not running"),
    });
    await host.edge.worker(worker.workerId, "ready");
  });
});

test("an agent names the session that the edge has heard, also after a process that never called it", async ({
  expect,
}) => {
  await using host = await AgentFixture.start();
  await host.readyWorker();
  const { session } = (await host.edge.until(() => host.edge.exchanges[0])).request;
  host.edge.assign();
  await host.edge.workerGone("worker-1");
  await host.stopAgent();
  host.edge.goOffline();
  await host.startAgent();
  await host.stopAgent();
  host.edge.goOnline();
  const before = host.edge.exchanges.length;
  await host.startAgent();
  await host.readyWorker();
  const { request } = await host.edge.until(() => host.edge.exchanges[before]);
  expect(request.previousSession).toBe(session);
});

test("workers that know another address of the agent are restarted", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const worker = await host.readyWorker();
  await host.stopAgent();
  const journal = new Journal(host.stateDir);
  journal.saveSetting("worker_address", "172.31.0.1"); // the network of the workers was created again
  journal.close();
  await host.startAgent();
  await host.logged("worker_discarded");
  await host.logged("worker_started", 2);
  await host.edge.worker(worker.workerId, "ready");
  await host.stopAgent();
  await host.startAgent();
  await host.logged("worker_adopted");
  expect(host.count("worker_discarded")).toBe(1);
});

describe("an agent that is stopped", () => {
  test("leaves its workers for the next one", async ({ expect }) => {
    await using host = await AgentFixture.create();
    await using agent = AgentProcess.start(settingsOf(host));
    await host.readyWorker();
    agent.signal("SIGTERM");
    expect(await agent.exited).toBe(0);
    const runtime = host.runtime();
    expect(await runtime.list()).toMatchObject([{ workerId: "worker-1", isRunning: true }]);
    await runtime.close();
  });

  test.for([1, 2])("by %i signals and is ephemeral removes them all", async (signals, { expect }) => {
    await using host = await AgentFixture.create();
    await using agent = AgentProcess.start(settingsOf(host, "--ephemeral"));
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_block: true } });
    await host.edge.held("job-1");
    for (let sent = 0; sent < signals; sent += 1) agent.signal("SIGINT");
    expect(await agent.exited).toBe(0);
    expect(processesNaming(host.stateDir)).toEqual([]);
  });

  test("by the death of its parent leaves no process when it is ephemeral", async ({ expect }) => {
    await using host = await AgentFixture.create();
    await using parent = AgentProcess.startUnderParent(settingsOf(host, "--ephemeral"));
    await host.readyWorker();
    expect(processesNaming(host.stateDir).length).toBeGreaterThanOrEqual(3);
    parent.signal("SIGKILL");
    await parent.exited; // its output closes when the agent has ended too
    expect(processesNaming(host.stateDir)).toEqual([]);
  });
});

describe("the first start of an agent", () => {
  test("joins once, does not reveal its token, and prints when it is connected", async ({ expect }) => {
    await using host = await AgentFixture.create();
    await using first = AgentProcess.start(settingsOf(host));
    await first.printed(`connected ${host.edge.url} as test\n`);
    await host.readyWorker();
    await first.kill();
    await using second = AgentProcess.start(settingsOf(host), {});
    await second.printed("connected");
    await second.kill();

    expect(host.edge.joins).toBe(1);
    const credential = join(host.stateDir, "host.json");
    expect(statSync(credential).mode & 0o777).toBe(0o600);
    expect(statSync(join(host.stateDir, "journal.db")).mode & 0o777).toBe(0o600);
    expect(readFileSync(credential, "utf8")).toContain(HOST_TOKEN);
    const output = first.stdout + first.stderr + second.stdout + second.stderr;
    expect(output).not.toContain(HOST_TOKEN);
    expect(output).not.toContain(JOIN_TOKEN);
  });

  test("waits for an edge that is not there yet", async () => {
    await using host = await AgentFixture.create();
    host.edge.goOffline();
    await using agent = AgentProcess.start(settingsOf(host));
    await host.edge.until(() => host.edge.attempted > 0);
    host.edge.goOnline();
    await agent.printed("connected");
  });

  test("fails at once when another agent uses the same state directory", async ({ expect }) => {
    await using host = await AgentFixture.create();
    await using first = AgentProcess.start(settingsOf(host));
    await first.printed("connected");
    await using second = AgentProcess.start(settingsOf(host), {});
    expect(await second.exited).toBe(1);
    expect(second.stderr).toContain("Another agent runs on");
    await first.kill();
  });
});
