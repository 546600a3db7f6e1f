import { describe, test } from "vitest";
import { LIVE_RESTART_EXIT_CODE } from "../../src/contract/flash/flash-live.ts";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { Gate } from "../support/gate.ts";
import { processesNaming } from "../support/agent-process.ts";

describe("a worker", () => {
  test("is reported as starting, and as ready from its first poll on", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker();
    const states = host.edge.syncs.flatMap((sync) => sync.workers.map((worker) => worker.state));
    expect(new Set(states)).toEqual(new Set(["starting", "ready"]));
    expect(states.at(-1)).toBe("ready");
  });

  test("starts only when a worker that its host has given up has left its GPU", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const leaving = await host.readyWorker();
    const gate = new Gate(host.stateDir);
    host.edge.submit(leaving.endpointId, { id: "job-1", input: { mock_until: gate.file, mock_return: 1 } });
    await host.logged("job_delivered");
    host.edge.assign(assignment({ workerId: "worker-2", endpointId: "endpoint-2" }));
    const waiting = await host.edge.until(() =>
      host.edge.syncs
        .at(-1)
        ?.workers.find(
          ({ workerId, state, detail }) =>
            workerId === "worker-2" && (state === "ready" || detail?.includes("worker-1")),
        ),
    );
    expect(waiting.state).toBe("starting");
    expect(host.count("worker_started")).toBe(1);
    gate.open();
    await host.edge.worker("worker-2", "ready");
    const order = host.events.map(({ event }) => event);
    expect(order.indexOf("worker_removed")).toBeLessThan(order.lastIndexOf("worker_started"));
  });

  test("whose image cannot be pulled reports why and retries", async ({ expect }) => {
    await using host = await AgentFixture.create();
    host.prepareOutcomes.push({ kind: "failed", detail: "no such image: nothing:latest" });
    await host.startAgent({ restartBaseMs: 500 });
    host.edge.assign(assignment());
    const pulling = await host.edge.until(() => {
      const worker = host.edge.syncs.at(-1)?.workers[0];
      return worker?.detail?.includes("no such image") ? worker : undefined;
    });
    expect(pulling).toMatchObject({
      state: "pulling",
      detail: expect.stringContaining("1 s"),
      failing: { times: 1, ago: expect.any(Number) },
    });
    await host.edge.worker("worker-1", "ready");
  });

  test("that crashes with a job loses it, reports its last line, and is restarted", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_crash: 3 } });

    expect(await host.edge.report("job-1")).toMatchObject({
      kind: "lost",
      reason: expect.stringMatching(/\b3\b.*the handler crashes now/),
    });
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    expect(await host.edge.report("job-2")).toMatchObject({ kind: "completed" });
    expect(host.count("worker_started")).toBe(2);
  });

  test("that crashes and leaves its ping process behind is lost at once, and nothing of it stays", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_PINGS: "process" } });
    const before = processesNaming(host.stateDir);
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_delay: 0.5, mock_crash: 3 } });

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "lost" });
    await host.logged("worker_ready", 2);
    const after = processesNaming(host.stateDir);
    expect(after).toHaveLength(before.length);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  });

  test("that posts a result and dies at once does not lose it", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const input = { mock_return: "last words", mock_post_and_crash: true };
    host.edge.submit(worker.endpointId, { id: "job-1", input });

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: "last words" });
  });

  test("that keeps exiting is crash-looping, with its exit and last log line, and waits longer", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(assignment({ env: { MOCK_EXIT_AT_START: "7", MOCK_STDERR_LINE: "no weights found" } }));

    const report = await host.edge.worker("worker-1", "crash_looping");
    expect(report.detail).toMatch(/\b7\b.*no weights found/);
    await host.logged("worker_failed", 4);
    expect(
      host.events.filter(({ event }) => event === "worker_failed").map(({ fields }) => fields["state"]),
    ).toEqual(["starting", "crash_looping", "crash_looping", "crash_looping"]);
  });

  test("that does not poll within its start limit is unhealthy", async ({ expect }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(assignment({ env: { MOCK_NEVER_TAKE: "1" }, startLimitMs: 300 }));

    const report = await host.edge.worker("worker-1", "unhealthy");
    expect(report.detail).toMatch(/did not ask for a job within 0 s of its start/);
    await host.logged("worker_started", 2);
  });

  test("that reports itself unhealthy is shown with its reason", async ({ expect }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(assignment({ env: { MOCK_UNHEALTHY: "3 % free" } }));

    const report = await host.edge.worker("worker-1", "unhealthy");
    expect(report.detail).toContain("disk: 3 % free");
  });

  test("whose command does not exist reports that", async ({ expect }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(assignment({ dockerArgs: "no-such-command" }));
    const report = await host.edge.worker("worker-1", "crash_looping");
    expect(report.detail).toContain("no-such-command");
  });

  test("that asks for a fresh container after a result gets one and takes no job before", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker({ env: { MOCK_LOOK_MS: "0" } });
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_return: 1, mock_refresh: true } });
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: 1 });
    expect(
      await host.edge.until(() => host.edge.reportsOf("job-2")[0] ?? host.edge.reportsOf("job-2")[0]),
    ).toMatchObject({ kind: "completed", output: 2 });
    expect(host.events.findIndex(({ event }) => event === "worker_recreated")).toBeLessThan(
      host.events.findLastIndex(({ event }) => event === "job_delivered"),
    );
  });

  test("that ends because the new code needs a fresh process is started at once, and has not failed", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const { endpointId } = await host.readyWorker({ env: { FLASH_LIVE: "true" } });
    const input = { mock_return: 1, mock_post_and_crash: LIVE_RESTART_EXIT_CODE };
    host.edge.submit(endpointId, { id: "job-1", input });
    await host.logged("worker_ready", 2);

    expect((await host.logged("worker_recreated")).fields).toMatchObject({ reason: "new_code" });
    expect(host.count("worker_failed")).toBe(0);
    const told = host.edge.syncs.flatMap(({ workers }) => workers);
    expect(told.filter(({ failing }) => failing !== undefined)).toEqual([]);
    await host.edge.until(() =>
      host.edge.logLines({ source: "system" }).find(({ line }) => line.includes("new code")),
    );
  });

  test("that exits with code 0 without being stopped has failed, live or not", async ({ expect }) => {
    for (const env of [{}, { FLASH_LIVE: "true" }]) {
      await using host = await AgentFixture.start();
      const { endpointId } = await host.readyWorker({ env });
      host.edge.submit(endpointId, { id: "job-1", input: { mock_crash: 0 } });
      const { fields } = await host.logged("worker_failed");
      expect(fields["reason"]).toMatch(/\b0\b/);
      expect(host.count("worker_recreated")).toBe(0);
    }
  });

  test("that was ready for long and asks for a fresh container is not called failing for what was before", async ({
    expect,
  }) => {
    await using host = await AgentFixture.create();
    const failed = { kind: "failed", detail: "no such image" } as const;
    host.prepareOutcomes.push(failed, failed);
    await host.startAgent({ healthyMs: 1 });
    const { endpointId } = await host.readyWorker();
    const from = host.edge.syncs.length;
    host.edge.submit(endpointId, { id: "job-1", input: { mock_return: 1, mock_refresh: true } });
    await host.logged("worker_ready", 2);
    const told = host.edge.syncs.slice(from).flatMap(({ workers }) => workers);
    expect(told.map(({ state }) => state)).toContain("starting");
    expect(told.filter(({ failing }) => failing !== undefined)).toEqual([]);
  });
});

describe("a worker that is no longer assigned", () => {
  test("ends soon when it is idle, and nothing of it is left", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker();
    host.edge.assign();
    await host.edge.workerGone("worker-1");

    expect(await host.runtime().list()).toEqual([]);
    expect(host.edge.syncs.some((sync) => sync.workers[0]?.state === "stopping")).toBe(true);
  });

  test("finishes its job first and takes no other", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_delay: 0.5, mock_return: "done" } });
    await host.edge.held("job-1");
    host.edge.submit(worker.endpointId, { id: "job-2", input: { mock_return: 2 } });
    host.edge.assign(assignment({ workerId: "worker-2", revision: 2 }));

    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: "done" });
    await host.edge.workerGone("worker-1");
    const second = await host.edge.until(() => host.edge.reportsOf("job-2")[0]);
    expect(second).toMatchObject({ kind: "completed", workerId: "worker-2" });
  });

  test("is killed after the grace when it ignores SIGTERM", async ({ expect }) => {
    await using host = await AgentFixture.start({ drainGraceMs: 200 });
    await host.readyWorker({ env: { MOCK_IGNORE_SIGTERM: "1" } });
    host.edge.assign();
    await host.edge.workerGone("worker-1");
    expect(await host.runtime().list()).toEqual([]);
  });
});
