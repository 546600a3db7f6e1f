/** `edgerun endpoint`, `job`, `logs`, `host` and `secret`, on a host whose workers are processes. */
import { join } from "node:path";
import { afterAll, beforeAll, inject, test } from "vitest";
import { CommandFixture } from "../cli/support/flash-command.ts";
import { RunningCommand } from "../cli/support/running-command.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";

const PACKAGE = join(import.meta.dirname, "../../sdk/python/src");
const APP = `
from edgerun import Endpoint

@Endpoint(name="greeter", cpu="cpu3c-1-2", workers=(1, 1))
def greet(name: str) -> str:
    print(f"greeting {name}")
    if name == "nobody":
        raise ValueError("nobody to greet")
    return f"hello {name}"
`;

let account: AccountHost;
let fixture: CommandFixture;

beforeAll(async () => {
  account = await startAccountHost("edgerun commands", "process");
  fixture = await CommandFixture.open(inject("flashBundle"), {
    EDGERUN_URL: account.baseUrl,
    SVC_API_KEY: account.apiKey,
    PYTHONPATH: PACKAGE,
  });
  await fixture.write("greeter.py", APP);
  const { exitCode, stderr } = await fixture.run("flash deploy --no-deps --json");
  if (exitCode !== 0) throw new Error(stderr);
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await account?.stop();
});

async function edgerun(args: string) {
  const { stdout, stderr, exitCode } = await fixture.run(`edgerun ${args}`);
  const json = (): Record<string, unknown> => {
    if (stdout === "") throw new Error(`edgerun ${args} printed nothing: ${stderr}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  return { stdout, stderr, exitCode, json };
}

test("an endpoint is listed, shown, and suggested for a mistyped name", async ({ expect }) => {
  expect((await edgerun("endpoint list --json")).json()).toMatchObject({
    endpoints: [{ name: "greeter", type: "QB", version: 1, workersMin: 1, workersMax: 1, workers: 1 }],
  });
  const shown = await edgerun("endpoint get greeter");
  expect(shown.stdout).toMatch(/^greeter {2}\w+ {2}v1$/m);
  expect(shown.stdout).toContain("Workers  1 (1 to 1): 1 idle");
  const mistyped = await edgerun("endpoint get gretter");
  expect(mistyped).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Did you mean greeter?") });
  expect((await fixture.run("flash endpoint list")).exitCode).toBe(2);
});

test("a job is run, listed and shown; one that fails ends with its error and exit code 1", async ({
  expect,
}) => {
  const good = await edgerun(`job run greeter --input '{"name": "Ada"}'`);
  expect(good).toMatchObject({ exitCode: 0 });
  expect(good.stdout).toContain('"hello Ada"');
  await fixture.write("input.json", '{"name": "nobody"}');
  const bad = await edgerun("job run greeter --input @input.json");
  expect(bad).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("ValueError: nobody to greet") });
  expect(await edgerun("job run greeter --input '{'")).toMatchObject({ exitCode: 2 });

  const failed = (await edgerun("job list greeter --status FAILED --json")).json() as {
    requests: { id: string }[];
  };
  expect(failed.requests).toHaveLength(1);
  const [{ id } = { id: "" }] = failed.requests;
  expect((await edgerun(`job get greeter ${id} --json`)).json()).toMatchObject({ id, status: "FAILED" });
  expect((await edgerun(`job retry greeter ${id} --json`)).json()).toMatchObject({ id });
  expect((await edgerun(`job get greeter ${id} --wait`)).exitCode).toBe(1);
  expect((await edgerun(`job cancel greeter none`)).exitCode).toBe(1);
});

test("logs are shown by job and text, and followed", async ({ expect }) => {
  const { id } = (await edgerun(`job run greeter --no-wait --json -i '{"name": "Bea"}'`)).json();
  await edgerun(`job get greeter ${String(id)} --wait`);
  const args = ["logs", "greeter", "--follow", "--search", "greeting"];
  await using logs = new RunningCommand(join(fixture.commands, "edgerun"), args, {
    cwd: fixture.project,
    env: fixture.environment,
  });
  await logs.printed(/greeting Bea/);
  await edgerun(`job run greeter -i '{"name": "Cleo"}'`);
  await logs.printed(/greeting Cleo/);
  const linesOfJob = async () =>
    (await edgerun(`logs greeter --job ${String(id)} --since 1h --json`)).json()["lines"];
  const line = expect.objectContaining({ line: "greeting Bea", jobId: id });
  await expect.poll(linesOfJob, { timeout: 20_000 }).toContainEqual(line); // lines are stored together
});

test("a host is listed, drained and used again", async ({ expect }) => {
  const { hosts } = (await edgerun("host list --json")).json() as { hosts: { id: string; name: string }[] };
  const [{ id } = { id: "" }] = hosts;
  expect((await edgerun(`host drain ${id} --json`)).json()).toMatchObject({ id, drained: true });
  expect((await edgerun("host list")).stdout).toContain("drained");
  expect((await edgerun(`host drain ${id} --undo --json`)).json()).toMatchObject({ drained: false });
  expect((await edgerun("host add --json")).json()).toEqual({
    installCommand: expect.stringContaining("curl"),
  });
});

test("a secret is set from the standard input, changed, listed without its value, and deleted", async ({
  expect,
}) => {
  const set = async (value: string) =>
    await fixture.run(`printf %s ${value} | edgerun secret set TOKEN --json`);
  expect(JSON.parse((await set("first")).stdout)).toEqual({ name: "TOKEN", action: "created" });
  expect(JSON.parse((await set("second")).stdout)).toEqual({ name: "TOKEN", action: "updated" });
  const listed = await edgerun("secret list --json");
  expect(listed.json()).toMatchObject({ secrets: [{ name: "TOKEN" }] });
  expect(listed.stdout).not.toContain("second");
  expect(await edgerun("secret delete TOKNE --yes")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("Did you mean TOKEN?"),
  });
  expect((await edgerun("secret delete TOKEN")).exitCode).not.toBe(0); // nobody can be asked
  expect((await edgerun("secret delete TOKEN --yes --json")).json()).toEqual({
    deleted: "TOKEN",
    id: expect.any(String),
  });
});
