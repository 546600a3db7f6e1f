/** What becomes of live endpoints when `flash dev` is ended the hard way, and what other commands see of them. */
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { showApp } from "../../cli/apps/apps.ts";
import { listEnvironments } from "../../cli/apps/environments.ts";
import { chooseEnvironment, findApp } from "../../cli/deploy/target.ts";
import { findLeftovers, offerRemoval } from "../../cli/dev/session/leftovers.ts";
import { readTracked } from "../../cli/tracking/tracked-resources.ts";
import { undeploy } from "../../cli/undeploy/undeploy.ts";
import { type LoneEdge, startLoneEdge } from "../support/lone-edge.ts";
import { makeEndpoint } from "./support/deployed-endpoint.ts";
import { EdgeProxy } from "./support/edge-proxy.ts";
import { APP, declared, LiveDesk } from "./support/live-desk.ts";
import { RunningCommand } from "./support/running-command.ts";
import { CONTROL_C, talk } from "./support/terminal-dialog.ts";

const PROCESS = join(import.meta.dirname, "support/session-process.ts");

let edge: LoneEdge;
beforeAll(async () => {
  edge = await startLoneEdge();
});
afterAll(async () => {
  await edge?.[Symbol.asyncDispose]();
});

/** A process that has placed `one`, and was killed. */
async function killed(desk: LiveDesk): Promise<string> {
  const { baseUrl, apiKey } = desk.access;
  const command = new RunningCommand(process.execPath, [PROCESS, baseUrl, apiKey], {
    cwd: desk.directory,
    env: { PATH: process.env["PATH"] ?? "" },
  });
  const [, id = ""] = await command.printed(/^placed (\w+)$/m);
  await command.end("SIGKILL");
  return id;
}

test("what a killed process has left is gone on with where nobody can be asked", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const left = await killed(desk);
  const leftovers = await offerRemoval(
    desk.cli(),
    desk.service(),
    await findLeftovers(desk.cli(), desk.service()),
  );
  await desk.shown(new RegExp(`^! .* has left 1 live endpoint: live-one \\(${left}\\)`));
  const session = await desk.session({ leftovers });
  expect(await session.placeAll([declared("one")], () => undefined)).toEqual([
    { name: "one", outcome: "cached" },
  ]);
  expect(session.left()).toEqual([`live-one (${left})`]);
  // Another one that starts now finds a session that is in use.
  expect(await findLeftovers(desk.cli(), desk.service())).toEqual([]);
  const other = await desk.session({ leftovers });
  expect(other.left()).toEqual([]);
});

test("what a killed process has left is deleted when that is wanted", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  await killed(desk);
  const cli = desk.cli({ isYes: true });
  expect(await offerRemoval(cli, desk.service(), await findLeftovers(cli, desk.service()))).toEqual([]);
  await desk.shown(/^✓ Deleted 1 live endpoint\.$/);
  expect(await desk.present()).toEqual([]);
  expect(await readTracked(desk.directory)).toEqual({});
});

test("a leftover that the service has deleted meanwhile is forgotten", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  await killed(desk);
  const [session] = await desk.present();
  await desk.delete("FlashEnvironment", session?.id ?? "");
  expect(await findLeftovers(desk.cli(), desk.service())).toEqual([]);
  expect(await readTracked(desk.directory)).toEqual({});
});

test("the second Ctrl+C names what is left", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(edge.baseUrl);
  await using desk = await LiveDesk.open(edge);
  proxy.when("deleteFlashEnvironment", async () => await new Promise(() => undefined));
  const { screen, exitCode } = await talk(inTerminal(desk), command(desk, proxy.url), [
    { see: "placed", type: CONTROL_C },
    { see: "Ctrl+C again", type: CONTROL_C },
  ]);
  expect(screen).toMatch(/! Not deleted: live-one \(\w+\)\.$/m);
  expect(exitCode).toBe(130);
});

test("a terminal that is closed leaves nothing on the service", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const { exitCode } = await talk(inTerminal(desk), command(desk), [{ see: "placed", hangUp: true }]);
  expect(exitCode).toBe(130);
  expect(await desk.present()).toEqual([]);
});

test("a fault that nothing has caught is told, and leaves nothing on the service", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const { baseUrl, apiKey } = desk.access;
  const running = new RunningCommand(process.execPath, [PROCESS, baseUrl, apiKey, "stray"], {
    cwd: desk.directory,
    env: { PATH: process.env["PATH"] ?? "" },
  });
  await running.over();
  expect(running.output).toMatch(/^✗ Error: stray$[^]*^deleted 1$/m);
  expect(await desk.present()).toEqual([]);
});

test("other commands tell sessions from environments that last", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const { access } = desk;
  await makeEndpoint(access, { name: "one", environment: "production", app: APP });
  const session = await desk.session();
  const { endpointId } = await session.place(declared("one"));
  const cli = { ...desk.cli(), environment: { EDGERUN_URL: access.baseUrl, SVC_API_KEY: access.apiKey } };

  expect(chooseEnvironment(await findApp(desk.service(), APP), undefined)).toBe("production");
  await listEnvironments(cli, APP);
  await desk.shown(/^live-\w{6} .* LIVE$/);
  await showApp(cli, APP);
  await desk.shown(/^live-\w{6} +LIVE /);
  await undeploy(cli, { app: APP, name: "list" });
  await desk.shown(new RegExp(`^active +live-one +${endpointId}$`));
});

test("undeploy deletes a live endpoint by its name, and forgets sessions that are gone", async ({
  expect,
}) => {
  await using desk = await LiveDesk.open(edge);
  const session = await desk.session();
  const { endpointId } = await session.place(declared("one"));
  await session.place(declared("two"));
  const { access } = desk;
  const environment = { EDGERUN_URL: access.baseUrl, SVC_API_KEY: access.apiKey };
  const cli = { ...desk.cli({ isYes: true }), environment };

  await undeploy(cli, { app: APP, name: "live-one" });
  await desk.shown(new RegExp(`^✓ Deleted live-one \\(${endpointId}\\)\\.$`));
  expect(Object.keys(await readTracked(desk.directory))).not.toContain("QB:live-one");

  const [present] = await desk.present();
  await desk.delete("FlashEnvironment", present?.id ?? "");
  await undeploy(cli, { app: APP, name: undefined, cleanupStale: true });
  await desk.shown(/^✓ Forgot 1 endpoint\.$/);
  expect(await readTracked(desk.directory)).toEqual({});
});

function command({ access }: LiveDesk, url = access.baseUrl): string {
  return `${process.execPath} ${PROCESS} ${url} ${access.apiKey}`;
}

function inTerminal({ directory }: LiveDesk) {
  return { project: directory, environment: { PATH: process.env["PATH"] ?? "" } };
}
