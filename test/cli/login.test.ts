/** `flash login`, against a real edge. */
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { beforeAll, inject, test } from "vitest";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";
import { managementApi } from "../../standalone/management-api.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { CommandFixture } from "./support/flash-command.ts";
import { newAccount } from "../support/shared-edge.ts";
import { CONTROL_C, talk } from "./support/terminal-dialog.ts";

const bundle = inject("flashBundle");
let edge: EdgeAccess;
beforeAll(async () => {
  edge = await newAccount("login");
});

/** A login under way; `requested` is the id that its address names. */
async function startLogin(fixture: CommandFixture, args: readonly string[] = []) {
  const child = spawn(
    join(fixture.commands, "flash"),
    ["login", "--no-open", "--url", edge.baseUrl, ...args],
    {
      cwd: fixture.project,
      env: fixture.environment,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const ended = once(child, "close").then(([exitCode]) => exitCode as number);
  while (!/\b[A-Z0-9]{4}-[A-Z0-9]{4}\b/.test(output)) await once(child.stdout, "data");
  const [, requested = ""] = /request=(\S+)/.exec(output) ?? [];
  return { child, requested, ended, output: () => output };
}

async function decide(id: string, isApproved: boolean): Promise<void> {
  await managementApi(edge.baseUrl, edge.apiKey).query(
    "mutation ($input: ApproveFlashAuthRequestInput) { approveFlashAuthRequest(input: $input) { status } }",
    { input: { flashAuthRequestId: id, isApproved } },
  );
}

/** Who asks, as the page shows it. */
async function clientOf(id: string): Promise<string> {
  const { flashAuthRequestStatus } = await managementApi(edge.baseUrl, edge.apiKey).query<{
    flashAuthRequestStatus: { client: string };
  }>("query ($id: String) { flashAuthRequestStatus(flashAuthRequestId: $id) { client } }", { id });
  return flashAuthRequestStatus.client;
}

test("an approved login stores a working key, readable by its owner only", async ({ expect }) => {
  await using fixture = await CommandFixture.open(bundle);
  const login = await startLogin(fixture);
  expect(login.output()).toContain(`${edge.baseUrl}/flash/login?request=${login.requested}`);
  expect(login.output()).toContain(`${login.requested.slice(0, 4)}-${login.requested.slice(4, 8)}`);
  expect(await clientOf(login.requested)).toBe(`flash/${EDGERUN_VERSION} (${hostname()})`);
  await decide(login.requested, true);
  expect(await login.ended).toBe(0);
  expect(login.output()).toMatch(new RegExp(`^✓ .*${edge.baseUrl}`, "m"));

  const path = join(fixture.home, ".config/edgerun/config.toml");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const [, key = ""] = /api_key = "(.*)"/.exec(await readFile(path, "utf8")) ?? [];
  expect(key).toMatch(/^er_/);
  expect(login.output()).not.toContain(key);
  expect(await fixture.run("flash app list")).toMatchObject({ exitCode: 0, stderr: "" });
});

test("a denied login fails and stores nothing", async ({ expect }) => {
  await using fixture = await CommandFixture.open(bundle);
  const login = await startLogin(fixture);
  await decide(login.requested, false);
  expect(await login.ended).toBe(1);
  expect(/^✗ .*$/m.exec(login.output())?.[0]).toMatchInlineSnapshot(
    `"✗ Login failed: it was denied in the browser."`,
  );
  await expect(stat(join(fixture.home, ".config/edgerun/config.toml"))).rejects.toMatchObject({
    code: "ENOENT",
  });
});

test("a login without approval times out", async ({ expect }) => {
  await using fixture = await CommandFixture.open(bundle);
  const login = await startLogin(fixture, ["--timeout", "1"]);
  expect(await login.ended).toBe(1);
  expect(/^✗ .*$/m.exec(login.output())?.[0]).toMatchInlineSnapshot(
    `"✗ Login timed out: it was not approved in the browser."`,
  );
});

test.for(["SIGINT", "SIGTERM"] as const)("%s while it waits ends it with 130", async (signal, { expect }) => {
  await using fixture = await CommandFixture.open(bundle);
  const login = await startLogin(fixture);
  login.child.kill(signal);
  expect(await login.ended).toBe(130);
  expect(login.output()).toMatch(/^✗ /m);
});

test("Ctrl+C in a terminal, while the last line moves, ends it with 130", async ({ expect }) => {
  await using fixture = await CommandFixture.open(bundle);
  const { screen, exitCode } = await talk(fixture, `flash login --no-open --url ${edge.baseUrl}`, [
    { see: "Waiting for you", type: CONTROL_C },
  ]);
  expect(screen).toContain("✗");
  expect(exitCode).toBe(130);
});

test("a stored key is not replaced without an answer", async ({ expect }) => {
  await using fixture = await CommandFixture.open(bundle);
  await fixture.write("../home/.config/edgerun/config.toml", 'api_key = "stored-key"\ntheme = "dark"\n');
  const refused = await fixture.run(`flash login --no-open --url ${edge.baseUrl}`);
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain("--yes");

  const login = await startLogin(fixture, ["--yes"]);
  await decide(login.requested, true);
  expect(await login.ended).toBe(0);
  const text = await readFile(join(fixture.home, ".config/edgerun/config.toml"), "utf8");
  expect(text).toContain('theme = "dark"');
  expect(text).not.toContain("stored-key");
});

test("a network URL without https is rejected unless --insecure is given", async ({ expect }) => {
  await using fixture = await CommandFixture.open(bundle);
  const { exitCode, stderr } = await fixture.run("flash login --no-open --url http://edge.example");
  expect(exitCode).toBe(1);
  expect(stderr).toContain("--insecure");
});
