/** `flash deploy` to a host, workers as processes: it ends when its workers are ready, or says why they are not. */
import { join } from "node:path";
import { afterAll, beforeAll, inject, test } from "vitest";
import { CommandFixture } from "../cli/support/flash-command.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { QueueClient } from "../support/queue-client.ts";
import { SteadyLoad } from "../support/steady-load.ts";

const PACKAGE = join(import.meta.dirname, "../../sdk/python/src");

/** `atStart` runs on workers alone. */
function app(answer: string, atStart = "pass", { name = "greeter", workers = "(1, 1)" } = {}): string {
  return `
import os
from edgerun import Endpoint

if os.environ.get("FLASH_RESOURCE_NAME"):
    ${atStart}

@Endpoint(name="${name}", cpu="cpu3c-1-2", workers=${workers}, idle_timeout=1)
def greet() -> str:
    return "${answer}"
`;
}

type Deployed = {
  readonly endpoints: readonly { readonly id: string }[];
  readonly workers: readonly object[];
  readonly failures: readonly { readonly name: string; readonly log: readonly string[] }[];
};

let account: AccountHost;
let fixture: CommandFixture;

beforeAll(async () => {
  account = await startAccountHost("deploy outcomes", "process");
  fixture = await CommandFixture.open(inject("flashBundle"), {
    EDGERUN_URL: account.baseUrl,
    SVC_API_KEY: account.apiKey,
    PYTHONPATH: PACKAGE,
  });
});
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
  await account?.stop();
});

async function deploy(code: string, options = "") {
  await fixture.write("greeter.py", code);
  const { stdout, stderr, exitCode } = await fixture.run(`flash deploy --no-deps --json ${options}`);
  const deployed = JSON.parse(stdout) as Deployed;
  return { ...deployed, stderr, exitCode, id: deployed.endpoints[0]?.id ?? "" };
}

async function answerOf(endpointId: string): Promise<unknown> {
  const client = new QueueClient({ ...account, endpointId });
  const { id } = await client.run({});
  return (await client.result(id)).output;
}

test("a deployment ends with a line of its ready workers", async ({ expect }) => {
  const { workers, stderr, exitCode, id } = await deploy(app("hello"));
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/✓ greeter v1: 1 of 1 workers ready, [\d.]+ s/);
  expect(workers).toEqual([
    { id, name: "greeter", version: 1, state: "ready", workers: { ready: 1, total: 1 } },
  ]);
});

test("one whose workers cannot start fails with the reason and what they printed; older ones go on", async ({
  expect,
}) => {
  const { failures, stderr, exitCode, id } = await deploy(
    app("hi", `print("loading"); raise RuntimeError("no such weights")`),
  );
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/✗ greeter v2: 0 of 1 workers ready after [\d.]+ s/);
  expect(stderr).toMatch(/greeter: .*no such weights/);
  expect(failures).toEqual([expect.objectContaining({ name: "greeter" })]);
  expect(failures[0]?.log).toContain("loading");
  expect(stderr).toContain("greeter │ loading");
  expect(await answerOf(id)).toBe("hello");

  const repaired = await deploy(app("hi"));
  expect(repaired.exitCode).toBe(0);
  expect(repaired.stderr).toContain("✓ greeter v3: 1 of 1 workers ready");
  expect(await answerOf(id)).toBe("hi");
});

test("an endpoint that scales to zero is tested by a worker that leaves, unless --no-check is given", async ({
  expect,
}) => {
  const rare = { name: "rare", workers: "(0, 1)" };
  const good = await deploy(app("hello", "pass", rare), "--app rare");
  expect(good.exitCode).toBe(0);
  expect(good.stderr).toContain("✓ rare v1: 1 of 1 workers ready");
  const client = new QueueClient({ ...account, endpointId: good.id });
  await expect
    .poll(async () => (await client.health()).workers, { timeout: 20_000 })
    .toMatchObject({
      idle: 0,
      running: 0,
    });

  const broken = app("hello", `print("loading"); raise RuntimeError("no such weights")`, rare);
  const bad = await deploy(broken, "--app rare");
  expect(bad.exitCode).toBe(1);
  expect(bad.stderr).toMatch(/rare: .*no such weights/);
  expect(bad.failures[0]?.log).toContain("loading");

  const unchecked = await deploy(broken, "--app rare --no-check");
  expect(unchecked.exitCode).toBe(0);
  expect(unchecked.stderr).toContain("✓ rare v2: no worker runs; the first call starts one");
});

test("a canary whose jobs fail goes back with exit code 1, and one without fault goes on", async ({
  expect,
}) => {
  const canary = { name: "canary" };
  const { id } = await deploy(app("hello", "pass", canary), "--app canary");
  await using load = new SteadyLoad({ ...account, endpointId: id }, 3, () => ({}));
  const bad = await deploy(app('" + str(1 / 0) + "', "pass", canary), "--app canary --canary 50%");
  expect(bad.exitCode).toBe(1);
  expect(bad.stderr).toMatch(/canary: .*\d+ of \d+ jobs failed, 0 of \d+ of the earlier version/);
  expect(await answerOf(id)).toBe("hello");

  const good = await deploy(app("hi", "pass", canary), "--app canary --canary 50%");
  expect(good.exitCode).toBe(0);
  await load.stop();
  expect(await answerOf(id)).toBe("hi");
});

test("versions are listed with their builds and authors, compared, and rolled back", async ({ expect }) => {
  const flash = async (args: string) => {
    const { stdout, stderr, exitCode } = await fixture.run(`flash ${args} --app history --json`);
    return { json: JSON.parse(stdout || "null") as unknown, stderr, exitCode };
  };
  const first = await deploy(app("hello"), "--app history");
  await deploy(app("hi"), "--app history");
  const { json: listed } = await flash("releases");
  const release = { apiKeyName: expect.any(String), flashBuildId: expect.any(String) };
  expect(listed).toMatchObject({
    app: "history",
    environment: "production",
    endpoints: [{ name: "greeter", version: 2, releases: [{ ...release, version: 2 }, { version: 1 }] }],
  });
  expect((await flash("diff v1 v2")).json).toMatchObject({ changes: [{ field: "code" }] });

  const back = await flash("rollback");
  expect(back.exitCode).toBe(0);
  expect(back.stderr).toContain("✓ greeter v3: 1 of 1 workers ready");
  expect(await answerOf(first.id)).toBe("hello");
  expect((await flash("diff v1 v3")).json).toMatchObject({ changes: [] });
  expect((await flash("rollback v2")).exitCode).toBe(0);
  expect(await answerOf(first.id)).toBe("hi");

  const unknown = await flash("rollback v9");
  expect(unknown.exitCode).toBe(1);
  expect(unknown.stderr).toMatch(/no version v9[^]*It has v1 to v4/);
  expect((await flash("diff v1 latest")).exitCode).toBe(2);
});
