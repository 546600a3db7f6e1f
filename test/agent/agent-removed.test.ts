/** A host that the edge does not know any more, and the way back. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { queryAgent } from "../../node-agent/host/status-server.ts";
import { assignment } from "../support/agent-fixture.ts";
import { AgentProcess, processesNaming } from "../support/agent-process.ts";
import { JOIN_TOKEN, ScriptedEdge } from "../support/scripted-edge.ts";

let stateDir: string;
let edge: ScriptedEdge;

beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "edgerun-removed-"));
  edge = await ScriptedEdge.start();
});
afterEach(async () => {
  await edge[Symbol.asyncDispose]();
  await rm(stateDir, { recursive: true, force: true });
});

const start = (env: NodeJS.ProcessEnv) => AgentProcess.start({ edgeUrl: edge.url, stateDir }, env);
const within = (name: string) => join(stateDir, name);

/** Answers the parked sync with what there is; the next one is refused. */
function refuse(): void {
  edge.behaviour.errorStatus = 401;
  edge.assign(assignment());
}

test("a refused agent removes its workers and logs it; with a join token it can be started again", async ({
  expect,
}) => {
  await using agent = start({ EDGERUN_JOIN_TOKEN: JOIN_TOKEN });
  edge.assign(assignment());
  await edge.worker("worker-1", "ready");
  refuse();
  expect(await agent.exited).toBe(1);
  expect(agent.stderr).toContain("does not accept this host's token any more");
  expect(agent.stderr).toContain("joins again");
  expect(processesNaming(within("workers"))).toEqual([]);
  expect([existsSync(within("host.json")), existsSync(within("host.json.refused"))]).toEqual([false, true]);
});

test("a token that the installation left is used once and removed; refused then, the agent stays down", async ({
  expect,
}) => {
  await writeFile(within("join-token"), `${JOIN_TOKEN}\n`, { mode: 0o600 });
  await using agent = start({});
  await agent.printed("connected");
  await expect.poll(() => existsSync(within("join-token"))).toBe(false);
  await expect
    .poll(() => queryAgent(stateDir))
    .toMatchObject({ hostId: "host-1", name: "test", workers: [], jobs: 0, notice: null });
  refuse();
  expect(await agent.exited).toBe(78);
  expect(agent.stderr).toMatch(/join token/);
  expect(await queryAgent(stateDir)).toBeUndefined();
});

test("without a join token a host that has not joined prints what to do", async ({ expect }) => {
  await using agent = start({ EDGERUN_JOIN_TOKEN: "" });
  expect(await agent.exited).toBe(78);
  expect(agent.stderr).toMatch(/join token/);
});

test("an edge of another computer without https is not spoken to, and the agent stays down", async ({
  expect,
}) => {
  await using agent = AgentProcess.start({ edgeUrl: "http://edge.invalid", stateDir });
  expect(await agent.exited).toBe(78);
  expect(agent.stderr).toContain("--allow-plain-http");
  expect(agent.stderr).not.toContain("edge_unreachable");
});

test("a join token among the arguments works, with a warning that does not show it", async ({ expect }) => {
  const flags = ["--join-token", JOIN_TOKEN];
  await using agent = AgentProcess.start({ edgeUrl: edge.url, stateDir, flags }, {});
  await agent.printed("connected");
  expect(agent.stderr).toContain("EDGERUN_JOIN_TOKEN");
  expect(agent.stderr.replaceAll("--join-token", "")).not.toContain(JOIN_TOKEN);
});

test("a refused join token ends the agent with the message of the edge", async ({ expect }) => {
  await using agent = start({ EDGERUN_JOIN_TOKEN: "erj_wrong" });
  expect(await agent.exited).toBe(78);
  expect(agent.stderr).toContain("the message of the edge");
});
