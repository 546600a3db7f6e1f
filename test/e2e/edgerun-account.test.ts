/** Commands of `edgerun` for what an account has: its endpoints, keys, templates, volumes and logins, and their lists. */
import { join } from "node:path";
import { afterAll, beforeAll, inject, test } from "vitest";
import { CommandFixture } from "../cli/support/flash-command.ts";
import { RunningCommand } from "../cli/support/running-command.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";

const PACKAGE = join(import.meta.dirname, "../../sdk/python/src");
const APP = `
from edgerun import Endpoint

@Endpoint(name="counter", cpu="cpu3c-1-2", workers=(1, 1))
def count(to: int):
    for number in range(to):
        yield {"number": number}
    if to == 13:
        raise ValueError("an unlucky number")
`;

let account: AccountHost;
let fixture: CommandFixture;

beforeAll(async () => {
  account = await startAccountHost("edgerun account", "process");
  fixture = await CommandFixture.open(inject("flashBundle"), {
    EDGERUN_URL: account.baseUrl,
    SVC_API_KEY: account.apiKey,
    PYTHONPATH: PACKAGE,
  });
  await fixture.write("counter.py", APP);
  const { exitCode, stderr } = await fixture.run("flash deploy --no-deps --json");
  if (exitCode !== 0) throw new Error(stderr);
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await account?.stop();
});

async function edgerun(args: string) {
  const { stdout, stderr, exitCode } = await fixture.run(`edgerun ${args}`);
  const json = <Value = Record<string, unknown>>(): Value => {
    if (stdout === "") throw new Error(`edgerun ${args} printed nothing: ${stderr}`);
    return JSON.parse(stdout) as Value;
  };
  return { stdout, stderr, exitCode, json };
}

test("whoami names the service, the account and what the key may do", async ({ expect }) => {
  const shown = (await edgerun("whoami --json")).json();
  expect(shown).toMatchObject({ url: account.baseUrl, key: { level: expect.any(String), isCurrent: true } });
  expect((await edgerun("whoami")).stdout).toMatch(/^May {6}graphql WRITE, endpoints WRITE/m);
  expect((await edgerun("open --no-open --json")).json()["url"]).toMatch(/#?er/);
});

test("a key is made with few rights, which a refused command names, and revoked", async ({ expect }) => {
  const { token, id } = (await edgerun("key create ci --read-only --expires 1h --json")).json<{
    token: string;
    id: string;
  }>();
  expect((await edgerun("key list")).stdout).toMatch(/^ci +\w+ +er_\S+ +READ_ONLY +until /m);
  const forbidden = await fixture.run(`SVC_API_KEY=${token} edgerun key create other`);
  expect(forbidden).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/'ci' may read .+ not /) });
  expect(await edgerun("key revoke ci")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("--yes"),
  });
  expect((await edgerun("key revoke ci --yes --json")).json()).toEqual({ revoked: "ci", id });
  expect((await edgerun("key list")).stdout).toMatch(/^ci .* revoked /m);
});

test("the chunks of a job are streamed in order, and its failure is that of the command", async ({
  expect,
}) => {
  const run = async (to: number) =>
    (await edgerun(`job run counter --no-wait --json -i '{"to": ${to}}'`)).json()["id"] as string;
  const good = await edgerun(`job stream counter ${await run(3)}`);
  expect(good).toMatchObject({ exitCode: 0, stdout: '{"number":0}\n{"number":1}\n{"number":2}' });
  const bad = await edgerun(`job stream counter ${await run(13)}`);
  expect(bad).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("an unlucky number") });
  expect((await edgerun("job stream counter none")).exitCode).toBe(1);
});

test("a batch is run to its end and its outputs are listed; failed requests fail the command", async ({
  expect,
}) => {
  await fixture.write("batch.json", JSON.stringify([{ input: { to: 1 } }, { input: { to: 2 } }]));
  const batch = (await edgerun("batch run counter --input @batch.json --json")).json();
  expect(batch).toMatchObject({ requestTotal: 2, requestCompleted: 2, requestFailed: 0 });
  const id = String(batch["id"]);
  expect((await edgerun("batch list counter -o id")).stdout).toBe(id);
  expect((await edgerun(`batch results counter ${id}`)).stdout).toContain('[{"number":0},{"number":1}]');
  expect((await edgerun(`batch get counter ${id}`)).stdout).toContain("2 completed, 0 failed");
  const bad = await edgerun(`batch run counter --input '[{"input": {"to": 13}}]'`);
  expect(bad).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("1 did not complete") });
});

test("an endpoint is made of an image or a template, changed, purged and deleted", async ({ expect }) => {
  expect(await edgerun("endpoint create images")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("--image"),
  });
  const made = await edgerun("template create worker --image docker.io/me/worker:1 --env MODE=a --json");
  expect(made.json()).toMatchObject({ name: "worker" });
  const create = "endpoint create images --template worker --cpu cpu5c-2-4 --workers-max 0";
  expect((await edgerun(create)).exitCode).toBe(0);
  expect(await edgerun(create)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("edgerun endpoint update images"),
  });
  expect((await edgerun("template delete worker --yes")).stderr).toContain("worker");
  await edgerun("endpoint update images --workers-max 4 --idle-timeout 30");
  const { endpoints } = (await edgerun("endpoint list --json")).json<{ endpoints: { name: string }[] }>();
  expect(endpoints).toContainEqual(expect.objectContaining({ name: "images", workersMax: 4 }));
  expect((await edgerun("endpoint purge images --yes --json")).json()).toMatchObject({ removed: 0 });
  expect((await edgerun("endpoint delete imags --yes")).stderr).toContain("Did you mean images?");
  expect((await edgerun("endpoint delete images --yes")).exitCode).toBe(0);
  expect((await edgerun("template update worker --image docker.io/me/worker:2")).exitCode).toBe(0);
  expect((await edgerun("template list")).stdout).toContain("docker.io/me/worker:2");
  expect((await edgerun("template delete worker --yes")).exitCode).toBe(0);
});

test("a function is called with its arguments as options, which its signature checks", async ({ expect }) => {
  const called = await edgerun("call counter --to 2");
  expect(called).toMatchObject({ exitCode: 0 });
  expect(JSON.parse(called.stdout.slice(called.stdout.indexOf("[")))).toEqual([{ number: 0 }, { number: 1 }]);
  const wrong = await Promise.all(
    ["call counter", "call counter --too 2", "call counter --to two", "call counter two"].map(edgerun),
  );
  expect(wrong.map(({ exitCode }) => exitCode)).toEqual([2, 2, 2, 2]);
  expect(wrong.map(({ stderr }) => stderr.split("\n").at(-1))).toEqual([
    expect.stringContaining("--to: Field required"),
    expect.stringContaining("Did you mean --to?"),
    expect.stringContaining("--to must be of type int"),
    expect.stringContaining("'two' is no argument"),
  ]);
  expect((await edgerun("call -o numbers.json counter --to=1")).exitCode).toBe(0);
  expect((await fixture.run("cat numbers.json")).stdout).toBe('[\n  {\n    "number": 0\n  }\n]');
});

test("top without a terminal shows once what endpoints and hosts do", async ({ expect }) => {
  const { stdout, exitCode } = await edgerun("top");
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^counter +0 +0 +\d+ +0 +1 +0 +1/m);
  expect(stdout).toMatch(/^HOST +WORKERS +CPU/m);
});

test("completion offers the names that there are, and none where the service is away", async ({ expect }) => {
  const offered = await edgerun("complete -- job list ''");
  expect(offered.stdout.split("\n")).toContain("counter\t");
  expect((await edgerun("complete -- endpoint get cou")).stdout.split("\n")).toContain("counter\t");
  const away = await fixture.run("EDGERUN_URL=http://127.0.0.1:1 edgerun complete -- job list ''");
  expect(away).toMatchObject({ exitCode: 0, stderr: "" });
  expect(away.stdout).not.toContain("counter");
});

test("volumes and logins of registries are made, listed and deleted", async ({ expect }) => {
  await edgerun("volume create models --size 20 --data-center EU-RO-1");
  expect((await edgerun("volume list")).stdout).toMatch(/^models +\w+ +20 GB +EU-RO-1$/m);
  expect((await edgerun("volume delete models --yes")).exitCode).toBe(0);
  const stored = await fixture.run("printf hidden | edgerun registry create ghcr --username me");
  expect(stored).toMatchObject({ exitCode: 0 });
  expect((await edgerun("registry list")).stdout).toContain("ghcr");
  expect((await edgerun("registry delete ghcr --yes --json")).json()).toMatchObject({ deleted: "ghcr" });
});

test("changes are in the audit log, and work in the usage", async ({ expect }) => {
  await edgerun("key create noted --read-only");
  const audit = await edgerun("audit --kind api_key --limit 1");
  expect(audit.stdout).toMatch(/createApiKey +api_key noted/);
  expect(audit.stdout).toContain("Older ones: --before ");
  expect((await edgerun("usage --since 1d --by hour --json")).json()).toHaveProperty("usage");
});

test("workers and hosts are listed, and a list that is watched shows what has changed", async ({
  expect,
}) => {
  expect((await edgerun("worker list counter")).stdout).toMatch(/ (?:IDLE|RUNNING) +v1$/m);
  expect((await edgerun("host upgrade")).stdout).toBe("All agents are those of this edge.");
  await using watched = new RunningCommand(
    join(fixture.commands, "edgerun"),
    ["template", "list", "--watch"],
    { cwd: fixture.project, env: fixture.environment },
  );
  await watched.printed(/There are no templates/);
  await edgerun("template create later --image docker.io/me/later:1");
  await watched.printed(/^later /m);
});

test("the webhook secret is printed, and the calls of a job are listed", async ({ expect }) => {
  expect((await edgerun("webhook secret")).stdout).toMatch(/^whsec_/);
  const [id] = (await edgerun("job list counter -o id --limit 1")).stdout.split("\n");
  expect((await edgerun(`webhook list counter ${id}`)).stdout).toContain("was not called");
});
