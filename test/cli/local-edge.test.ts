/** `flash dev --local`: a function runs with nothing but this computer, and nothing of it stays. */
import { globSync, readFileSync, statSync } from "node:fs";
import { readFile, rm, symlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, test, vi } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { freePort } from "../support/free-port.ts";
import { processesIn } from "../support/leftovers.ts";
import { blocksOfTest, readDocuments } from "../support/markdown.ts";
import { CommandFixture, layOutBundle } from "./support/flash-command.ts";
import { RunningCommand } from "./support/running-command.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const HELLO = `
from edgerun import Endpoint

@Endpoint(name="hello")
def hello(name):
    print(f"greeting {name}")
    return {"message": f"Hello, {name}!", "name": name}
`;

let bundle: string;
let fixture: CommandFixture;

beforeAll(async () => {
  bundle = await layOutBundle();
  // Packages of the repository are above it, so that nothing is fetched.
  await symlink(join(ROOT, "node_modules"), join(dirname(bundle), "node_modules"));
  fixture = await CommandFixture.open(bundle, {
    EDGERUN_URL: "https://edge.example",
    SVC_API_KEY: "er_of_another",
    // What was compiled in the run before is not compiled again.
    XDG_CACHE_HOME: join(ROOT, "node_modules/.cache"),
  });
  await fixture.run("flash init .");
  await fixture.write("hello.py", HELLO);
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  if (bundle) await rm(dirname(bundle), { recursive: true, force: true });
});

async function start(): Promise<RunningCommand> {
  const args = ["dev", "--local", "--yes", "--port", String(await freePort())];
  return new RunningCommand(join(fixture.commands, "flash"), args, {
    cwd: fixture.project,
    env: fixture.environment,
  });
}

async function callHello(dev: RunningCommand): Promise<unknown> {
  return JSON.parse(await answerOfHello(dev, '"you"')) as unknown;
}

/** The answer as it was written, to a name that is JSON text. */
async function answerOfHello(dev: RunningCommand, name: string): Promise<string> {
  const [, url = ""] = await dev.printed(/(http:\/\/localhost:\d+)\/docs/);
  const response = await fetch(`${url}/hello/runsync`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: `{"input":{"name":${name}}}`,
  });
  return await response.text();
}

/** What the calls print that the README of a new app and the documents have for `flash dev`. */
async function documentedCalls(dev: RunningCommand): Promise<readonly unknown[]> {
  const [, place = ""] = await dev.printed(/http:\/\/(localhost:\d+)\/docs/);
  const readme = await readFile(join(fixture.project, "README.md"), "utf8");
  const blocks = readDocuments().flatMap((document) => blocksOfTest(document, "dev"));
  const text = [readme, ...blocks.map((block) => block.text)].join("\n");
  const calls = text.match(/^curl -X POST localhost:8888.*\\\n.*$/gm) ?? [];
  const answers = calls.map(async (call) => {
    const { stdout } = await fixture.run(
      call.replace("localhost:8888", place).replace("curl", "curl -sS --fail-with-body"),
    );
    return JSON.parse(stdout) as unknown;
  });
  return await Promise.all(answers);
}

/** Sessions that the local edge has. */
async function countSessions(): Promise<number> {
  const state = join(fixture.project, ".flash/local");
  const { url } = JSON.parse(await readFile(join(state, "running.json"), "utf8")) as { url: string };
  const api = managementApi(url, (await readFile(join(state, "api-key"), "utf8")).trim());
  type Found = { myself: { flashApps: { flashEnvironments: unknown[] }[] } };
  const { myself } = await api.query<Found>("{ myself { flashApps { flashEnvironments { id } } } }");
  return myself.flashApps.flatMap(({ flashEnvironments }) => flashEnvironments).length;
}

async function nothingIsLeft(): Promise<void> {
  await vi.waitFor(() => {
    const left = processesIn(fixture.project);
    if (left.length > 0) throw new Error(`processes ${left.join(", ")} are left`);
  }, 100_000);
}

/** Names of the logs that tell a key or a token. */
function secretsInLogs(): readonly string[] {
  const logs = globSync("{local,logs}/**/*.log", { cwd: join(fixture.project, ".flash") });
  if (logs.length < 4) throw new Error(`only these logs were found: ${logs.join(", ")}`);
  const key = readFileSync(join(fixture.project, ".flash/local/api-key"), "utf8").trim();
  return logs.filter((log) => {
    const text = readFileSync(join(fixture.project, ".flash", log), "utf8");
    return text.includes(key) || /\ber[a-z]?_[0-9a-f]{40}/.test(text);
  });
}

test("a function runs on this computer, again after a kill, and nothing is left of either", async ({
  expect,
}) => {
  const completed = { status: "COMPLETED", output: { message: "Hello, you!" } };
  await using killed = await start();
  expect(await callHello(killed)).toMatchObject(completed);
  expect(killed.output).toContain("no other service is used");
  await answerOfHello(killed, '"again"');
  await killed.printed(/#2 │ greeting again/);
  // What a call prints comes as it is printed: before the line of its end, or after it when the call was short.
  const shown = killed.output.match(/#\d+ (?:POST|│ greeting)/g);
  expect(shown?.toSorted()).toEqual(["#1 POST", "#1 │ greeting", "#2 POST", "#2 │ greeting"].toSorted());
  const exact = '{"seed":18446744073709551615,"cfg":7.0,"f":-0.0,"10":1,"2":"\\ud800"}';
  expect(await answerOfHello(killed, exact)).toContain(`"name":${exact}`);

  await using second = await start();
  expect(await second.over()).toBe(1);
  expect(second.output).toContain("A local edge already runs in this project");

  await killed.end("SIGKILL");
  await using next = await start();
  expect(await callHello(next)).toMatchObject(completed);
  expect(await documentedCalls(next)).toMatchObject([
    { output: { message: "Hello, CPU!" } },
    { output: { message: "Hello, GPU!" } },
    { received: { name: "LB" }, fields: 1 },
    { output: { message: "Hello, you!" } },
    { received: { name: "you" }, fields: 1 },
  ]);
  expect(await countSessions()).toBe(1); // its own; jobs of the killed one would run with old code
  expect(await next.end("SIGINT")).toBe(130);
  await nothingIsLeft();
  expect(secretsInLogs()).toEqual([]);
  expect(statSync(join(fixture.project, ".flash/local")).mode & 0o077).toBe(0);
});

test("where containers are wanted and no Docker daemon answers, that is said at once", async ({ expect }) => {
  const { stderr, exitCode } = await fixture.run(
    "DOCKER_HOST=unix:///nowhere/docker.sock flash dev --local --runtime docker",
  );
  expect(stderr.split("\n")).toEqual([
    "✗ The local edge was not started",
    "✗ No Docker daemon answers.",
    "  Start Docker (or set DOCKER_HOST), or leave out --runtime docker: workers then run as plain processes.",
  ]);
  expect(exitCode).toBe(1);
});
