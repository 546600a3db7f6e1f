import { execa } from "execa";
import { test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { Gate } from "../support/gate.ts";

/** How far the files of a process may grow: with 0 it writes nothing, as on a full disk. */
async function limitFiles({ pid }: AgentProcess, limit: "0" | "unlimited"): Promise<void> {
  await execa("prlimit", ["--pid", String(pid), `--fsize=${limit}:`]);
}

test("a result that the agent cannot keep is refused with 500, and taken when the worker sends it again", async ({
  expect,
}) => {
  await using host = await AgentFixture.create();
  await using agent = AgentProcess.start({ edgeUrl: host.edge.url, stateDir: host.stateDir });
  const worker = await host.readyWorker();
  const gate = new Gate(host.stateDir);
  host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_until: gate.file, mock_return: "kept" } });
  await agent.logged("job_delivered", "job-1");
  await limitFiles(agent, "0");
  gate.open();
  await agent.logged("worker_request_failed");
  expect(host.edge.reportsOf("job-1")).toEqual([]);
  await limitFiles(agent, "unlimited");

  expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", attempt: 1, output: "kept" });
});

test("an attempt whose result cannot be stored is given up after a while, with a reason", async ({
  expect,
}) => {
  await using host = await AgentFixture.create();
  await using agent = AgentProcess.start({ edgeUrl: host.edge.url, stateDir: host.stateDir });
  const worker = await host.readyWorker();
  const gate = new Gate(host.stateDir);
  host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_until: gate.file, mock_return: "kept" } });
  await agent.logged("job_delivered", "job-1");
  await limitFiles(agent, "0");
  gate.open();

  expect(await host.edge.report("job-1")).toMatchObject({
    kind: "lost",
    reason: expect.stringMatching(/^The host could not keep this job's result: /),
  });
});

test("a job that arrives while the disk is full runs, and its worker and agent survive", async ({
  expect,
}) => {
  await using host = await AgentFixture.create();
  await using agent = AgentProcess.start({ edgeUrl: host.edge.url, stateDir: host.stateDir });
  const worker = await host.readyWorker();
  await host.edge.offered(worker.endpointId, worker.workerId);
  await limitFiles(agent, "0");
  const gate = new Gate(host.stateDir);
  host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_until: gate.file, mock_return: "kept" } });
  await agent.logged("job_delivered", "job-1");
  await limitFiles(agent, "unlimited");
  gate.open();

  expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", attempt: 1, output: "kept" });
});

test("a worker that cannot be recorded is started with growing pauses, with a reason", async ({ expect }) => {
  await using host = await AgentFixture.create();
  await using agent = AgentProcess.start({ edgeUrl: host.edge.url, stateDir: host.stateDir });
  await agent.printed("connected ");
  await limitFiles(agent, "0");
  host.edge.assign(assignment());

  const report = await host.edge.worker("worker-1", "crash_looping");
  expect(report.detail).toMatch(/(disk|full|large).*; starts again in 2 s$/);
  await limitFiles(agent, "unlimited");
  await host.edge.worker("worker-1", "ready");
});
