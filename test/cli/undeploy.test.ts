/** `flash undeploy` as a person at a terminal uses it, and when the service does not delete. */
import { beforeAll, inject, test } from "vitest";
import { writePickle } from "../../cli/project/pickle.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { makeEndpoint } from "./support/deployed-endpoint.ts";
import { EdgeProxy } from "./support/edge-proxy.ts";
import { CommandFixture } from "./support/flash-command.ts";
import { newAccount } from "../support/shared-edge.ts";
import { CONTROL_C, ENTER, SPACE, talk } from "./support/terminal-dialog.ts";

const bundle = inject("flashBundle");
let edge: EdgeAccess;
beforeAll(async () => {
  edge = await newAccount("undeploy");
});

/** The endpoints `one` and `two` of an app; the shell variable APP says which app it is. */
async function deployed(app: string, address = edge.baseUrl) {
  for (const name of ["one", "two"]) await makeEndpoint(edge, { name, environment: "production", app });
  const fixture = await CommandFixture.open(bundle, {
    EDGERUN_URL: address,
    SVC_API_KEY: edge.apiKey,
    APP: app,
  });
  const names = async (): Promise<string[]> => {
    const { stdout } = await fixture.run("flash undeploy list --app $APP --json");
    return (JSON.parse(stdout) as { endpoints: { name: string }[] }).endpoints.map(({ name }) => name);
  };
  return { fixture, names };
}

test("--all deletes after yes and the typed text", async ({ expect }) => {
  const { fixture, names } = await deployed("typed");
  await using _ = fixture;
  const { exitCode } = await talk(fixture, "flash undeploy --all --app typed", [
    { see: "Delete 2 endpoints", type: "y" },
    { see: "Type DELETE ALL", type: `DELETE ALL${ENTER}` },
  ]);
  expect(exitCode).toBe(0);
  expect(await names()).toEqual([]);
});

test("a different text cancels and deletes nothing", async ({ expect }) => {
  const { fixture, names } = await deployed("mistyped");
  await using _ = fixture;
  const { screen, exitCode } = await talk(fixture, "flash undeploy --all --app mistyped", [
    { see: "Delete 2 endpoints", type: "y" },
    { see: "Type DELETE ALL", type: `delete all${ENTER}` },
  ]);
  expect(screen).toContain("✗");
  expect(exitCode).toBe(1);
  expect(await names()).toEqual(["one", "two"]);
});

test("--interactive deletes what was ticked", async ({ expect }) => {
  const { fixture, names } = await deployed("ticked");
  await using _ = fixture;
  const { exitCode } = await talk(fixture, "flash undeploy --interactive --app ticked", [
    { see: "Which endpoints", type: SPACE + ENTER },
    { see: "Delete 1 endpoint?", type: "y" },
  ]);
  expect(exitCode).toBe(0);
  expect(await names()).toEqual(["two"]);
});

test("Ctrl+C at the last question deletes nothing and ends with 130", async ({ expect }) => {
  const { fixture, names } = await deployed("interrupted");
  await using _ = fixture;
  const { exitCode } = await talk(fixture, "flash undeploy one --app interrupted", [
    { see: "Delete 1 endpoint?", type: CONTROL_C },
  ]);
  expect(exitCode).toBe(130);
  expect(await names()).toEqual(["one", "two"]);
});

test("an endpoint that is not deleted is named, and the command fails", async ({ expect }) => {
  await using service = await refusing(edge.baseUrl);
  const { fixture } = await deployed("surviving", service.url);
  await using _ = fixture;
  const all = await fixture.run("flash undeploy --all --yes --force --app surviving");
  expect(all.exitCode).toBe(1);
  expect(all.stderr).toMatch(/\b2\b.*\bone \(\w+\), two \(\w+\)/);
});

test("an app whose endpoints survive is kept, and they are named", async ({ expect }) => {
  await using service = await refusing(edge.baseUrl);
  const { fixture, names } = await deployed("kept", service.url);
  await using _ = fixture;
  const { exitCode, stderr } = await fixture.run("flash app delete kept --yes");
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/\b2\b.*\bone \(\w+\), two \(\w+\)/);
  expect(await names()).toEqual(["one", "two"]);
});

test("--cleanup-stale forgets endpoints that the service no longer has", async ({ expect }) => {
  const { fixture } = await deployed("stale");
  await using _ = fixture;
  const { stdout } = await fixture.run("flash undeploy list --app $APP --json");
  const [one] = (JSON.parse(stdout) as { endpoints: { id: string; name: string }[] }).endpoints;
  const tracked = { "QB:one": one ?? null, "QB:old": { id: "gone", name: "old" } };
  await fixture.write(".flash/resources.pkl", writePickle(tracked));
  expect((await fixture.run("flash undeploy list --app $APP")).stdout).toMatch(/^inactive {2}old/m);
  expect((await fixture.run("flash undeploy --cleanup-stale --app $APP --yes")).stdout).toMatch(
    /^✓ .*\b1\b/m,
  );
  expect((await fixture.run("flash undeploy list --app $APP")).stdout).not.toContain("old");
});

test("a hostile resources.pkl is rejected with the advice to delete it", async ({ expect }) => {
  const { fixture } = await deployed("hostile");
  await using _ = fixture;
  await fixture.write(".flash/resources.pkl", Buffer.from("cos\nsystem\n(S'touch hit'\ntR."));
  const { exitCode, stderr } = await fixture.run("flash undeploy list --app $APP; test ! -e hit");
  expect(exitCode).toBe(0);
  expect(stderr).toContain("resources.pkl");
});

/** The edge, but for the deletion of endpoints, which it refuses. */
async function refusing(address: string): Promise<EdgeProxy> {
  const proxy = await EdgeProxy.open(address);
  proxy.when("deleteEndpoint", () => "refuse");
  return proxy;
}
