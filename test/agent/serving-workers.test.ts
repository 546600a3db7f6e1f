/** Workers of load-balanced endpoints: when they take requests, and what is said of those that do not. */
import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";
import { processesNaming } from "../support/agent-process.ts";
import {
  enter,
  openWorkers,
  placeOf,
  said,
  serving,
  servingWorker,
  command,
} from "../support/serving-worker.ts";

describe("a worker that serves requests", () => {
  test("takes them once its health check answers 200, and not before", async ({ expect }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(serving({ SERVER_HEALTH: "503" }));
    const waiting =
      /^GET \/ping on port \d+ answers 503; it must answer 200 once the worker can take requests$/;
    await said(host, "starting", waiting);
    expect(openWorkers(host)).toEqual([]);
    expect(host.admissionControl.admit("endpoint-1", "worker-1", () => {})).toBeNull();

    await command(placeOf(host), "/health/200");
    const { detail, ago } = await host.edge.worker("worker-1", "ready");
    expect(detail).toBeUndefined();
    expect(Object.keys(ago ?? {})).toEqual([
      "assigned",
      "containerStarting",
      "containerStarted",
      "runtimeStarted",
      "ready",
    ]);
    expect(openWorkers(host)).toEqual(["worker-1"]);
    expect(host.admissionControl.openWorkers("endpoint-2")).toEqual([]);
    expect(host.admissionControl.admit("endpoint-2", "worker-1", () => {})).toBeNull();
    const { release, ...place } = enter(host);
    expect(await command(place, "/")).toBe("done");
    release();
    release();
  });

  test("is reported as initializing while it answers 204", async ({ expect }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(serving({ SERVER_HEALTH: "204", HEALTH_CHECK_PATH: "/healthz" }));
    await said(host, "starting", /^initializing \(204 on \/healthz\)$/);
    await command(placeOf(host), "/health/200");
    await host.edge.worker("worker-1", "ready");
    expect(host.count("worker_failed")).toBe(0);
  });

  test("gets none while it is unhealthy, and is not restarted for a short time of that", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    await servingWorker(host);
    const { release, ...place } = enter(host);
    release();
    await command(place, "/health/500");
    await host.logged("worker_health_lost");
    expect(openWorkers(host)).toEqual([]);
    await said(host, "unhealthy", /^GET \/ping on port \d+ answers 500; it must answer 200/);

    await command(place, "/health/200");
    await host.logged("worker_health_regained");
    await host.edge.worker("worker-1", "ready");
    expect(openWorkers(host)).toEqual(["worker-1"]);

    await command(place, "/health/204");
    await said(host, "starting", /^initializing/);
    expect(openWorkers(host)).toEqual([]);
    expect(host.count("worker_started")).toBe(1);
    await command(place, "/health/200");
    await host.edge.worker("worker-1", "ready");
    const told = await host.edge.until(() => {
      const lines = host.edge.logLines({ source: "system" }).map(({ line }) => line);
      return lines.includes("Healthy again: it gets requests.") && lines;
    });
    expect(told).toContainEqual(expect.stringMatching(/\b200\b.*\/ping/));
    expect(told.join("\n")).toMatch(/GET \/ping.*\d+.*\b500\b/);
  });

  test("is probed again when a connection to it has failed", async ({ expect }) => {
    await using host = await AgentFixture.start({ healthProbeMs: 600_000 });
    await servingWorker(host);
    const { release, ...place } = enter(host);
    release();
    await command(place, "/deaf");
    expect(openWorkers(host)).toEqual(["worker-1"]);
    host.admissionControl.connectionFailed("endpoint-1", "worker-1");
    await host.logged("worker_health_lost");
    expect(openWorkers(host)).toEqual([]);
  });

  test("gets none from the moment on that it refuses one, and some again once it is healthy", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start({ healthProbeMs: 600_000 });
    await servingWorker(host);
    host.admissionControl.connectionRefused("endpoint-1", "worker-1");
    expect(openWorkers(host)).toEqual([]);
    await expect.poll(() => openWorkers(host)).toEqual(["worker-1"]);
    expect(host.count("worker_health_lost")).toBe(0);
  });

  test("that stays unhealthy for as long as a start may take is restarted", async ({ expect }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(serving({}, { startLimitMs: 3_000 }));
    await host.edge.worker("worker-1", "ready");
    await command(placeOf(host), "/health/500");
    // The edge hears it, though the worker is soon well again.
    await said(
      host,
      "unhealthy",
      /^has not been healthy for 3 s: GET \/ping .* answers 500; .*; starts again in/,
    );
    await host.logged("worker_ready", 2);
    expect(openWorkers(host)).toEqual(["worker-1"]);
  });

  test("that never becomes healthy is ended at its start limit, with a reason, and retried", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    host.edge.assign(serving({ SERVER_HEALTH: "404" }, { startLimitMs: 2_000 }));
    await said(
      host,
      "unhealthy",
      /^was not healthy within 2 s of its start: GET \/ping .* answers 404; .*; starts/,
    );
    expect(host.edge.syncs.at(-1)?.workers[0]?.failing?.times).toBeGreaterThan(0);
    await host.logged("worker_started", 2);
  });

  test("that crashes gets no more requests from that moment, and some again once it is back", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start({ restartBaseMs: 1_000 });
    await servingWorker(host);
    const stale = enter(host);
    await command(stale, "/exit/3").catch(() => "the connection broke");
    await host.logged("worker_failed");
    expect(openWorkers(host)).toEqual([]);
    expect(host.admissionControl.admit("endpoint-1", "worker-1", () => {})).toBeNull();
    await host.logged("worker_ready", 2);
    expect(openWorkers(host)).toEqual(["worker-1"]);
    stale.release();
  });

  test("gets no job, even when it polls like a queue worker", async ({ expect }) => {
    await using host = await AgentFixture.start({ pollHoldMs: 50 });
    await servingWorker(host);
    const poll = await fetch(host.env("worker-1", "RUNPOD_WEBHOOK_GET_JOB"));
    expect(poll.status).toBe(204);
    const stops = await fetch(host.env("worker-1", "RUNPOD_WEBHOOK_GET_JOB").replace("job-take", "job-stop"));
    expect(stops.status).toBe(204);
    const ping = await fetch(`${host.env("worker-1", "RUNPOD_WEBHOOK_PING")}&job_id=1`);
    expect(ping.status).toBe(200);
    const url = host.env("worker-1", "RUNPOD_WEBHOOK_POST_OUTPUT").replace("$ID", "job-1");
    const done = await fetch(`${url}&isStream=false`, { method: "POST", body: '{"output":1}' });
    expect(done.status).toBe(200);
    expect(host.edge.exchanges.flatMap(({ request }) => request.slots)).toEqual([]);
    expect(openWorkers(host)).toEqual(["worker-1"]);
  });
});

describe("the ports of a worker that serves requests", () => {
  test("are its own where workers share those of the host", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const env = { PORT: "8080", PORT_HEALTH: "8080" };
    host.edge.assign(serving(env), serving(env, { workerId: "worker-2" }));
    await host.edge.worker("worker-1", "ready");
    await host.edge.worker("worker-2", "ready");
    expect(openWorkers(host).toSorted()).toEqual(["worker-1", "worker-2"]);
    const [one, two] = [placeOf(host, "worker-1").port, placeOf(host, "worker-2").port];
    expect(new Set([one, two, 8080]).size).toBe(3);
    expect(host.env("worker-1", "PORT_HEALTH")).toBe(String(one));
    expect(enter(host, "worker-2").port).toBe(two);
  });

  test("are both checked when health has its own port", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const script = `require("node:http").createServer((_, answer) => answer.end()).listen(process.env.PORT_HEALTH)`;
    const dockerArgs = `"${process.execPath}" -e '${script}'`;
    host.edge.assign(serving({ PORT_HEALTH: "8081" }, { dockerArgs }));
    await host.logged("worker_started");
    const port = host.env("worker-1", "PORT");
    const healthPort = host.env("worker-1", "PORT_HEALTH");
    expect(healthPort).not.toBe(port);
    const detail = new RegExp(`^nothing listens on port ${port}; the worker listens on ${healthPort}: `);
    await said(host, "starting", detail);
    expect(openWorkers(host)).toEqual([]);
  });

  test("are named when the server listens on another one", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const script = `require("node:http").createServer().listen(0, "127.0.0.1")`;
    host.edge.assign(serving({}, { dockerArgs: `"${process.execPath}" -e '${script}'` }));
    const { fields } = await host.logged("worker_port_wrong");
    expect(fields["reason"]).toMatch(/\d+.*127\.0\.0\.1:\d+.*\bPORT\b/);
  });

  test.for([
    ["PORT", "abc", /^PORT is "abc"; it must be a number from 1 to 65535\./],
    ["PORT_HEALTH", "70000", /^PORT_HEALTH is "70000"; /],
    ["HEALTH_CHECK_PATH", "ping", /^HEALTH_CHECK_PATH is "ping"; it must be a path that begins with "\/"/],
  ] as const)(
    "are withheld a worker whose %s is %s, until it is corrected",
    async ([name, value, detail], { expect }) => {
      await using host = await AgentFixture.start();
      host.edge.assign(serving({ [name]: value }));
      await said(host, "unhealthy", detail);
      expect(host.count("worker_started")).toBe(0);
      await servingWorker(host);
      expect(openWorkers(host)).toEqual(["worker-1"]);
    },
  );
});

describe("a load-balanced worker that is stopped", () => {
  test("ends once the last of them has its answer", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await servingWorker(host);
    const entry = enter(host);
    const answer = await fetch(`http://${entry.host}:${entry.port}/hold`);
    host.edge.assign();
    await host.edge.worker("worker-1", "stopping");
    expect(openWorkers(host)).toEqual([]);
    expect(host.admissionControl.admit("endpoint-1", "worker-1", () => {})).toBeNull();
    await command(entry, "/release"); // it still runs
    expect(await answer.text()).toBe("whole");
    expect(host.count("worker_removed")).toBe(0);
    entry.release();
    await host.edge.workerGone("worker-1");
    expect(await host.runtime().list()).toEqual([]);
  });

  test("ends after a while even if a request never ends", async ({ expect }) => {
    await using host = await AgentFixture.start({ requestGraceMs: 300 });
    await servingWorker(host);
    enter(host);
    host.edge.assign();
    await host.edge.workerGone("worker-1");
    expect(await host.runtime().list()).toEqual([]);
  });

  test("is frozen after a while, and a request that never ends is reset", async ({ expect }) => {
    await using host = await AgentFixture.start({ requestGraceMs: 300 });
    await servingWorker(host);
    const out = Promise.withResolvers<string>();
    const { release } = enter(host, "worker-1", () => {
      out.resolve(host.count("worker_frozen") === 0 ? "while it runs" : "when it is frozen");
      release();
    });
    host.edge.assign(serving({}, { mode: "standby" }));
    expect(await out.promise).toBe("while it runs");
    await host.logged("worker_frozen");

    host.edge.assign(serving());
    await expect.poll(() => openWorkers(host)).toEqual(["worker-1"]);
    enter(host);
    host.edge.assign(serving({}, { mode: "standby" }));
    await host.logged("worker_frozen", 2); // its time began again
  });

  test("is frozen only without requests, and gets some again only after it was healthy again", async ({
    expect,
  }) => {
    await using host = await AgentFixture.start();
    await servingWorker(host);
    const pids = processesNaming(host.stateDir);
    const entry = enter(host);
    const syncs = host.edge.syncs.length;
    host.edge.assign(serving({}, { mode: "standby" }));
    await host.edge.until(() => host.edge.syncs.at(-1)?.appliedRevision === host.edge.revision);
    expect(openWorkers(host)).toEqual([]);
    await command(entry, "/health/503"); // it runs as long as there is a request
    entry.release();
    await host.edge.until(() => host.edge.syncs.at(-1)?.workers.some(({ isStandby }) => isStandby));
    expect(host.edge.syncs.length).toBeGreaterThan(syncs);
    expect(await host.runtime().list()).toMatchObject([{ isFrozen: true }]);

    host.edge.assign(serving());
    await said(host, "starting", /answers 503/);
    expect(openWorkers(host)).toEqual([]);
    await command(placeOf(host), "/health/200");
    await host.edge.worker("worker-1", "ready");
    expect(openWorkers(host)).toEqual(["worker-1"]);
    expect(processesNaming(host.stateDir)).toEqual(pids);
  });
});

describe("an agent that is restarted", () => {
  test("finds the running server, and admits requests after one health check", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await servingWorker(host);
    const pids = processesNaming(host.stateDir);
    const { port } = enter(host);
    await host.stopAgent();
    expect(await command({ host: "127.0.0.1", port }, "/")).toBe("done");
    const syncs = host.edge.syncs.length;
    await host.startAgent({ healthProbeMs: 600_000 });
    await expect.poll(() => openWorkers(host)).toEqual(["worker-1"]);
    await host.edge.until(() => host.edge.syncs.length > syncs);
    expect(enter(host).port).toBe(port);
    const states = host.edge.syncs.slice(syncs).flatMap(({ workers }) => workers.map(({ state }) => state));
    expect(new Set(states)).toEqual(new Set(["ready"]));
    expect(processesNaming(host.stateDir)).toEqual(pids);
    expect(host.count("worker_started")).toBe(1);
  });
});
