/** What an agent does with secrets: it starts nothing without them, takes new ones at the next start, keeps none. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";

const VALUE = "hunter2-of-the-worker";
const LOGIN = { username: "ada-of-the-registry", password: "hunter2-of-the-registry", name: "team" };
const MINUTE_MS = 60_000;

/** Names of the files below a folder that hold a text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const contents = await Promise.all(
    paths.map(async (path) => ({ path, content: await readFile(path).catch(() => Buffer.alloc(0)) })),
  );
  return contents.filter(({ content }) => content.includes(text)).map(({ path }) => path);
}

test("a worker with a problem is not started, reports why, and starts when the problem is solved", async ({
  expect,
}) => {
  await using host = await AgentFixture.start();
  const problem = "Secret 'TOKEN', to which variable A of template 'b' refers, does not exist.";
  host.edge.assign(assignment({ problem, imageName: problem, dockerArgs: "", env: {} }));
  expect(await host.edge.worker("worker-1", "unhealthy")).toMatchObject({ detail: problem });
  expect(host.count("worker_started")).toBe(0);

  host.edge.assign(assignment({ problem: "Another problem." }));
  await host.edge.until(
    () => host.edge.syncs.at(-1)?.workers.find(({ detail }) => detail === "Another problem.") ?? null,
  );
  host.edge.assign(assignment({ env: { TOKEN: VALUE } }));
  await host.edge.worker("worker-1", "ready");
  expect(host.env("worker-1", "TOKEN")).toBe(VALUE);
  expect(host.count("worker_start_withheld")).toBe(2);
  expect(host.count("worker_started")).toBe(1);
});

test("a worker with a problem can be taken away again", async ({ expect }) => {
  await using host = await AgentFixture.start();
  host.edge.assign(assignment({ problem: "There is one." }));
  await host.edge.worker("worker-1", "unhealthy");
  host.edge.assign();
  expect(await host.edge.workerGone("worker-1")).toBe(true);
});

test("a running worker keeps its environment, and its next start uses the newest assignment", async ({
  expect,
}) => {
  await using host = await AgentFixture.start();
  const { endpointId } = await host.readyWorker({ env: { TOKEN: "old" } });
  const syncs = host.edge.syncs.length;
  host.edge.assign(assignment({ env: { TOKEN: VALUE } }));
  await host.edge.until(() => host.edge.syncs.length > syncs);
  host.edge.submit(endpointId, { id: "job-1", input: { mock_return: 1 } });
  await host.edge.report("job-1");
  expect(host.count("worker_started")).toBe(1);

  host.edge.submit(endpointId, { id: "job-2", input: { mock_crash: 1 } });
  await host.logged("worker_ready", 2);
  expect(host.env("worker-1", "TOKEN")).toBe(VALUE);
});

test("a worker whose secret was deleted continues to run, and is not started again", async ({ expect }) => {
  await using host = await AgentFixture.start();
  const { endpointId } = await host.readyWorker({ env: { TOKEN: VALUE } });
  const syncs = host.edge.syncs.length;
  host.edge.assign(assignment({ problem: "The secret is gone." }));
  await host.edge.until(() => host.edge.syncs.length > syncs);
  host.edge.submit(endpointId, { id: "job-1", input: { mock_return: 1 } });
  expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed" });

  host.edge.submit(endpointId, { id: "job-2", input: { mock_crash: 1 } });
  await host.logged("worker_start_withheld");
  expect(host.count("worker_started")).toBe(1);
});

test("a pull that failed is tried again at once when the edge sends another login", async ({ expect }) => {
  await using host = await AgentFixture.create();
  host.prepareOutcomes.push({ kind: "failed", detail: "The registry refused the credentials 'team'." });
  await host.startAgent({ restartBaseMs: MINUTE_MS });
  host.edge.assign(assignment({ registryAuth: LOGIN }));
  await host.logged("worker_prepare_failed");
  host.edge.assign(assignment({ registryAuth: { ...LOGIN, password: "new" } }));
  await host.edge.worker("worker-1", "ready");
  expect(host.count("worker_prepare_failed")).toBe(1);
});

test("nothing of secrets is on the disk or in the log, and an agent that restarts asks the edge for them", async ({
  expect,
}) => {
  await using host = await AgentFixture.start();
  const { endpointId } = await host.readyWorker({ env: { TOKEN: VALUE }, registryAuth: LOGIN });
  for (const text of [VALUE, LOGIN.username, LOGIN.password]) {
    expect(await filesWith(host.stateDir, text)).toEqual([]);
  }
  // What is looked for would be found.
  expect((await filesWith(host.stateDir, "worker-1")).length).toBeGreaterThan(0);

  await host.stopAgent();
  await host.startAgent();
  await host.logged("worker_adopted");
  host.edge.submit(endpointId, { id: "job-1", input: { mock_crash: 1 } });
  await host.logged("worker_ready", 2);
  expect(host.env("worker-1", "TOKEN")).toBe(VALUE);
  expect(await filesWith(host.stateDir, VALUE)).toEqual([]);
  expect(JSON.stringify(host.events)).not.toMatch(/hunter2|ada-of/);
});

test("a worker of an older release starts again as what it was, not as what the newest release is", async ({
  expect,
}) => {
  await using host = await AgentFixture.start();
  const { endpointId } = await host.readyWorker({ env: { TOKEN: "old" } });
  const syncs = host.edge.syncs.length;
  host.edge.assign(assignment({ env: { TOKEN: VALUE }, isSuperseded: true }));
  await host.edge.until(() => host.edge.syncs.length > syncs);
  host.edge.submit(endpointId, { id: "job-1", input: { mock_crash: 1 } });
  await host.logged("worker_ready", 2);
  expect(host.env("worker-1", "TOKEN")).toBe("old");
});

test("a worker whose own version is no longer known starts with the newest, and logs it", async ({
  expect,
}) => {
  await using host = await AgentFixture.start();
  await host.readyWorker({ env: { TOKEN: "new" }, isSuperseded: true });
  expect(host.env("worker-1", "TOKEN")).toBe("new");
  expect(host.events.find(({ event }) => event === "worker_assigned")?.fields).toMatchObject({
    workerId: "worker-1",
    isSuperseded: true,
  });
});
