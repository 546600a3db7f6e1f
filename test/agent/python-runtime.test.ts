/** Workers of the Python package under a real agent. */
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import type { JsonValue } from "../../src/json/raw-json.ts";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { enter } from "../support/serving-worker.ts";

const APP = fileURLToPath(new URL("../support/python-app", import.meta.url));
const PACKAGE = fileURLToPath(new URL("../../sdk/python/src", import.meta.url));
/** For handlers that obey, on a machine however slow. */
const NEVER_OVERSTAYS = { stopGraceMs: 3_600_000 };

function python(name: string, type: "QB" | "LB" = "QB"): Partial<Assignment> {
  return {
    type,
    dockerArgs: "python3 -m edgerun.runtime",
    env: {
      PYTHONPATH: `${APP}${delimiter}${PACKAGE}`,
      FLASH_APP_DIRECTORY: APP,
      FLASH_RESOURCE_NAME: name,
      FLASH_ENDPOINT_TYPE: type.toLowerCase(),
    },
  };
}

describe("a worker of a Python function", () => {
  test("completes jobs, and fails those whose function raises with a traceback of the user's file", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker(python("jobs"));
    const value = { error: "no failure", text: "é" };
    const run = (id: string, input: JsonValue) => {
      host.edge.submit(worker.endpointId, { id, input });
      return host.edge.report(id);
    };

    expect(await run("good", { value })).toMatchObject({ kind: "completed", output: value });
    expect(await run("empty", null)).toMatchObject({ kind: "completed", output: null });
    const bad = await run("bad", { fail: "no wéights" });
    const { error_type, error_message, error_traceback } = JSON.parse("error" in bad ? bad.error : "{}");
    expect({ error_type, error_message }).toEqual({ error_type: "ValueError", error_message: "no wéights" });
    expect(error_traceback.split("\n")[1]).toBe(`  File "${APP}/main.py", line 13, in jobs`);
    expect(await run("wrong", { valeu: 1 })).toMatchObject({
      kind: "failed",
      error: expect.stringContaining("'valeu'"),
    });
  });

  test("takes as many jobs as it may run at a time", async ({ expect }) => {
    await using host = await AgentFixture.start(NEVER_OVERSTAYS);
    const worker = await host.readyWorker(python("jobs"));
    await host.edge.offered(worker.endpointId, worker.workerId, 2);
    host.edge.submit(worker.endpointId, { id: "waits", input: { wait: true } });
    await host.edge.held("waits");
    host.edge.submit(worker.endpointId, { id: "beside", input: { value: 1 } });
    expect(await host.edge.report("beside")).toMatchObject({ kind: "completed", output: 1 });

    host.edge.stop("waits");
    await host.logged("job_stopped");
    await host.edge.offered(worker.endpointId, worker.workerId, 2);
    expect(host.count("worker_recreated")).toBe(0);
  });

  test("streams what a generator yields, and gives all of it as output", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker(python("stream"));
    host.edge.submit(worker.endpointId, { id: "job-1", input: { count: 3 } });
    const yielded = [{ number: 0 }, { number: 1 }, { number: 2 }];
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: yielded });
    expect(host.edge.chunksOf("job-1")).toEqual(yielded);
    const lines = await host.edge.until(() => {
      const texts = host.edge.logLines({ source: "container" }).map(({ line }) => line);
      return texts.includes("yields 2") && texts;
    });
    expect(lines.filter((line) => line.startsWith("yields"))).toEqual(["yields 0", "yields 1", "yields 2"]);
  });

  test("works through a long queue, job after job", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker(python("plain"));
    for (let number = 1; number <= 50; number += 1) {
      host.edge.submit(worker.endpointId, { id: `job-${number}`, input: { count: 2 } });
    }
    expect(await host.edge.report("job-50")).toMatchObject({ kind: "completed", output: [0, 1] });
    expect(host.count("job_lost")).toBe(0);
  });

  test("drains without a job lost and exits with 0", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker(python("plain"));
    host.edge.assign();
    await host.edge.workerGone("worker-1");
    expect(host.count("worker_failed")).toBe(0);
  });

  test("that cannot start shows why with its jobs", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const { env, ...rest } = python("plain");
    host.edge.assign({
      ...assignment(rest),
      env: { ...env, FLASH_RESOURCE_NAME: "gone" },
    });
    const { detail } = await host.edge.worker("worker-1", "crash_looping");
    expect(detail).toMatch(/'gone'.*jobs, plain, stream, api.*`flash deploy`/);
  });
});

describe("a worker of Python routes", () => {
  test("is healthy, answers requests, and ends when it is stopped", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker(python("api", "LB"));
    const { release, ...place } = enter(host);
    const response = await fetch(`http://${place.host}:${place.port}/double/21`);
    expect(await response.json()).toEqual({ double: 42 });
    release();

    host.edge.assign();
    await host.edge.workerGone("worker-1");
    expect(host.count("worker_failed")).toBe(0);
  });
});
