/** Workers of load-balanced endpoints and the link over which their requests come, together. */
import { describe, test } from "vitest";
import { AgentFixture } from "../support/agent-fixture.ts";
import { AgentProcess } from "../support/agent-process.ts";
import type { ScriptedLink } from "../support/scripted-link.ts";
import { openWorkers, placeOf, said, serving, servingWorker, command } from "../support/serving-worker.ts";

/** An agent with one worker that takes requests over a link. */
async function linkedWorker(timing: Parameters<typeof AgentFixture.start>[0] = {}) {
  const host = await AgentFixture.start(timing);
  const { link } = host.edge;
  await servingWorker(host);
  await says(link, ["worker-1"]);
  return { link, host, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

/** The link says that these workers take requests. */
function says(link: ScriptedLink, workerIds: readonly string[]): Promise<unknown> {
  return link.until(() => JSON.stringify(link.said.at(-1)) === JSON.stringify(workerIds));
}

async function synced(host: AgentFixture, times: number): Promise<void> {
  const until = host.edge.syncs.length + times;
  await host.edge.until(() => host.edge.syncs.length >= until);
}

describe("a worker with a link", () => {
  test("answers requests, and is named only while it is healthy", async ({ expect }) => {
    await using world = await linkedWorker();
    const { link, host } = world;
    expect((await link.request("worker-1").over()).text).toBe("done");
    await command(placeOf(host), "/health/500");
    await says(link, []);
    await command(placeOf(host), "/health/200");
    await says(link, ["worker-1"]);
    expect(link.violations).toEqual([]);
  });

  test("that dies with a request leaves the pool at once, and is back when it is healthy", async ({
    expect,
  }) => {
    await using world = await linkedWorker({ healthProbeMs: 600_000 });
    const { link } = world;
    const held = link.request("worker-1", { target: "/hold" });
    await held.answered();
    const before = link.said.length;
    link.request("worker-1", { target: "/exit/3" });
    await held.over();
    await link.until(() => link.said.slice(before).some((workers) => workers.length === 0));
    await says(link, ["worker-1"]);
    expect((await link.request("worker-1").over()).text).toBe("done");
  });

  test("ends its requests when it is no longer assigned", async ({ expect }) => {
    await using world = await linkedWorker({ edgeHoldMs: 50 });
    const { link, host } = world;
    const held = link.request("worker-1", { target: "/hold" });
    await held.answered();
    host.edge.assign();
    await says(link, []);
    await synced(host, 5); // it had time to be ended too early
    await command(placeOf(host), "/release");
    expect((await held.over()).text).toBe("whole");
    await host.edge.workerGone("worker-1");
    expect(host.count("worker_failed")).toBe(0);
  });

  test("is not named while it is on standby", async ({ expect }) => {
    await using world = await linkedWorker({ healthProbeMs: 600_000 });
    const { link, host } = world;
    await command(placeOf(host), "/health/503"); // nobody looks now
    host.edge.assign(serving({}, { mode: "standby" }));
    await host.logged("worker_frozen");
    await says(link, []);
    const before = link.said.length;
    host.edge.assign(serving());
    await host.logged("worker_thawed");
    expect(openWorkers(host)).toEqual([]); // not probed yet
    await said(host, "starting", /answers 503/);
    expect(link.said.slice(before).flat()).toEqual([]);
    await command(placeOf(host), "/health/200");
    await says(link, ["worker-1"]);
    expect((await link.request("worker-1").over()).text).toBe("done");
    expect(host.count("worker_started")).toBe(1);
  });

  test("continues while its agent is killed, and takes requests through the next one", async ({ expect }) => {
    await using host = await AgentFixture.create();
    const { link } = host.edge;
    const settings = { edgeUrl: host.edge.url, stateDir: host.stateDir };
    await using first = AgentProcess.start(settings);
    host.edge.assign(serving());
    await says(link, ["worker-1"]);
    const port = (await link.request("worker-1", { target: "/env/PORT" }).over()).text;
    await first.kill();
    await link.until(() => !link.isOpen);
    expect(await command({ host: "127.0.0.1", port: Number(port) }, "/")).toBe("done");

    const before = link.said.length;
    await using second = AgentProcess.start(settings, {});
    await link.until(() => link.said.slice(before).some((workers) => workers.includes("worker-1")));
    expect((await link.request("worker-1", { target: "/env/PORT" }).over()).text).toBe(port);
    expect(second.stderr).toContain("worker_adopted");
    expect(second.stderr).not.toContain("worker_started");
  });
});
