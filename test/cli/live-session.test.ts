/**
 * Live sessions beside a real edge: what is made, made again and deleted, whatever happens meanwhile; what becomes of
 * live endpoints when `flash dev` is ended the hard way, and what other commands see of them.
 */
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { showApp } from "../../cli/apps/apps.ts";
import { listEnvironments } from "../../cli/apps/environments.ts";
import { chooseEnvironment, findApp } from "../../cli/deploy/target.ts";
import { findLeftovers, offerRemoval } from "../../cli/dev/session/leftovers.ts";
import { openLiveSession } from "../../cli/dev/session/open-session.ts";
import { confirmProvisioning } from "../../cli/dev/session/provisioning.ts";
import { networkVolumes } from "../../cli/service/endpoint-operations.ts";
import { readTracked } from "../../cli/project/tracked-resources.ts";
import { undeploy } from "../../cli/apps/undeploy.ts";
import { type LoneEdge, startLoneEdge } from "../support/lone-edge.ts";
import { makeEndpoint } from "./support/deployed-endpoint.ts";
import { EdgeProxy, type Fate } from "./support/edge-proxy.ts";
import { APP, declared, LiveDesk } from "./support/live-desk.ts";
import { RunningCommand } from "./support/running-command.ts";
import { CONTROL_C, talk } from "./support/terminal-dialog.ts";

const PROCESS = join(import.meta.dirname, "support/session-process.ts");
const ENVIRONMENT = {
  PATH: process.env["PATH"] ?? "",
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "",
};

let edge: LoneEdge;
beforeAll(async () => {
  edge = await startLoneEdge();
});
afterAll(async () => {
  await edge?.[Symbol.asyncDispose]();
});

test("an endpoint is made once, and changed when its configuration has changed", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const session = await desk.session();
  const places = await Promise.all([1, 2, 3].map(async () => await session.place(declared("one"))));
  expect(new Set(places.map(({ endpointId }) => endpointId)).size).toBe(1);
  const again = await session.place(declared("one", { workersMax: 3 }));
  expect(again).toEqual(places[0]);
  const [{ endpoints } = { endpoints: [] }] = await desk.present();
  expect(endpoints).toEqual([{ id: again.endpointId, name: "live-one", workersMax: 3 }]);
});

test("a queue that became routes is made anew under its name", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const session = await desk.session();
  const queue = await session.place(declared("one"));
  const routes = await session.place(declared("one", { is_load_balanced: true }));
  expect(routes.endpointId).not.toBe(queue.endpointId);
  expect(Object.keys(await readTracked(desk.directory))).toContain("LB:live-one");
  expect(Object.keys(await readTracked(desk.directory))).not.toContain("QB:live-one");
});

test("three endpoints are made at a time; one that is refused is named with the reason, and the others go on", async ({
  expect,
}) => {
  await using proxy = await EdgeProxy.open(edge.baseUrl);
  await using desk = await LiveDesk.open(edge);
  let atOnce = 0;
  let mostAtOnce = 0;
  const three = Promise.withResolvers<void>();
  proxy.when("saveEndpoint", async (): Promise<Fate> => {
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    if (atOnce === 3) three.resolve();
    await three.promise;
    atOnce -= 1;
    return "pass";
  });
  const session = await desk.session({ url: proxy.url });
  const names = ["a", "b", "c", "d"].map((name) => declared(name));
  const wrong = declared("wrong", { instanceIds: ["cpu9z-1-2"] });
  const seen: string[] = [];
  const results = await session.placeAll([...names, wrong], ({ name }) => void seen.push(name));
  expect(mostAtOnce).toBe(3);
  expect(seen.toSorted()).toEqual(["a", "b", "c", "d", "wrong"]);
  expect(results.map(({ outcome }) => outcome)).toEqual([
    "deployed",
    "deployed",
    "deployed",
    "deployed",
    "failed",
  ]);
  expect(results[4]?.error).toMatch(/'wrong'.*instanceIds.*cpu9z/);
  const [first] = await session.placeAll([declared("a")], () => undefined);
  expect(first).toEqual({ name: "a", outcome: "cached" });
});

test("two endpoints that name the same new volume get one", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const session = await desk.session();
  const networkVolume = { name: "models", size: 10, dataCenterId: "EU-RO-1" };
  const both = ["one", "two"].map((name) => declared(name, { networkVolume }));
  const results = await session.placeAll(both, () => undefined);
  expect(results.map(({ outcome }) => outcome)).toEqual(["deployed", "deployed"]);
  const { myself } = await desk.service().query(networkVolumes);
  expect(myself.networkVolumes.map(({ name }) => name)).toEqual(["models"]);
});

test("an endpoint that somebody else has deleted is made again", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const session = await desk.session();
  const before = await session.place(declared("one"));
  await desk.delete("Endpoint", before.endpointId);
  session.forget("one");
  const after = await session.place(declared("one"));
  expect(after.endpointId).not.toBe(before.endpointId);
  expect(after.liveToken).toBe(before.liveToken);
});

test("a session that has ended is opened again with all that it had, and the person is told", async ({
  expect,
}) => {
  await using desk = await LiveDesk.open(edge);
  const session = await desk.session();
  const before = await session.place(declared("one"));
  await session.place(declared("two"));
  const [ended] = await desk.present();
  await desk.delete("FlashEnvironment", ended?.id ?? "");
  session.forget("one");
  const after = await session.place(declared("one"));
  expect(after.liveToken).not.toBe(before.liveToken);
  await desk.shown(/^! The live session had ended on the service.* 1 live endpoint made anew/);
  await session.place(declared("two"));
  const present = await desk.present();
  expect(present.map(({ endpoints }) => endpoints.map(({ name }) => name).toSorted())).toEqual([
    ["live-one", "live-two"],
  ]);
});

test("the lease is renewed, through an outage too, and an ended session is noticed", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(edge.baseUrl);
  await using desk = await LiveDesk.open(edge);
  const renewed = Promise.withResolvers<void>();
  proxy.when("renewFlashEnvironmentLease", () => (renewed.resolve(), "pass"));
  const session = await desk.session({ url: proxy.url, renewedEveryMs: 20 });
  await session.place(declared("one"));
  const [first] = await desk.present();
  await renewed.promise;
  proxy.when("renewFlashEnvironmentLease", () => "cut");
  await desk.shown(/^! The live session could not be renewed: .* cannot be reached/);
  proxy.when("renewFlashEnvironmentLease", () => "pass");
  await desk.shown(/^✓ The live session is renewed again/);
  const [second] = await desk.present();
  expect(Date.parse(second?.leaseExpiresAt ?? "")).toBeGreaterThan(Date.parse(first?.leaseExpiresAt ?? ""));
  await desk.delete("FlashEnvironment", first?.id ?? "");
  await desk.shown(/^! The live session had ended/);
});

test("a declaration that is gone takes its endpoint with it", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const session = await desk.session();
  await session.placeAll([declared("one"), declared("two")], () => undefined);
  await session.keepOnly(["two"]);
  const [{ endpoints } = { endpoints: [] }] = await desk.present();
  expect(endpoints.map(({ name }) => name)).toEqual(["live-two"]);
  expect(session.left()).toEqual([`live-two (${endpoints[0]?.id})`]);
});

test("a session that is closed while an endpoint is being made leaves nothing", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(edge.baseUrl);
  await using desk = await LiveDesk.open(edge);
  const events = new EventTarget();
  const release = Promise.withResolvers<Fate>();
  proxy.when("saveEndpoint", async () => {
    events.dispatchEvent(new Event("saving"));
    return await release.promise;
  });
  const session = await desk.session({ url: proxy.url });
  const saving = once(events, "saving");
  const placing = session.place(declared("one"));
  await saving;
  expect(session.left()).toEqual(["live-one"]);
  const closing = session.close();
  release.resolve("pass");
  await placing;
  expect(await closing).toEqual({ deleted: 1, left: [] });
  expect(await desk.present()).toEqual([]);
  expect(await readTracked(desk.directory)).toEqual({});
  await expect(session.place(declared("one"))).rejects.toThrowErrorMatchingInlineSnapshot(
    `[Failure: The live session has ended.]`,
  );
});

test("Ctrl+C ends the making of endpoints, and takes those along that were under way", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(edge.baseUrl);
  await using desk = await LiveDesk.open(edge);
  let saves = 0;
  const release = Promise.withResolvers<Fate>();
  const three = Promise.withResolvers<void>();
  proxy.when("saveEndpoint", async () => {
    saves += 1;
    if (saves === 3) three.resolve();
    return await release.promise;
  });
  const session = await desk.session({ url: proxy.url });
  const names = ["a", "b", "c", "d", "e"].map((name) => declared(name));
  const making = session.placeAll(names, () => undefined);
  await three.promise;
  desk.interrupt();
  release.resolve("pass");
  await expect(making).rejects.toThrow("Cancelled.");
  expect(await session.close()).toEqual({ deleted: 3, left: [] });
  expect(saves).toBe(3);
  expect(await desk.present()).toEqual([]);
});

test("what could not be deleted is named, and stays tracked", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(edge.baseUrl);
  await using desk = await LiveDesk.open(edge);
  proxy.when("deleteFlashEnvironment", () => "refuse");
  const session = await desk.session({ url: proxy.url });
  const { endpointId } = await session.place(declared("one"));
  expect(await session.close()).toEqual({ deleted: 0, left: [`live-one (${endpointId})`] });
  expect(Object.keys(await readTracked(desk.directory))).toContain("QB:live-one");
});

test("two sessions of one project have their own endpoints, and both are tracked", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const [one, other] = await Promise.all([desk.session(), desk.session()]);
  const names = ["a", "b", "c"].map((name) => declared(name));
  await Promise.all([one.placeAll(names, () => undefined), other.placeAll(names, () => undefined)]);
  const keys = Object.keys(await readTracked(desk.directory));
  expect(keys.filter((key) => key.startsWith("Session:live-"))).toHaveLength(2);
  expect(keys.filter((key) => key.startsWith("QB:live-"))).toHaveLength(6);
  expect(keys).toContain("QB:live-a");
  await one.close();
  expect((await desk.present()).map(({ endpoints }) => endpoints.length)).toEqual([3]);
  expect(Object.keys(await readTracked(desk.directory))).toHaveLength(4);
});

test("a wrong key is said at the start", async ({ expect }) => {
  await using desk = await LiveDesk.open(edge);
  const service = desk.service(edge.baseUrl, "er_0000000000000000000000000000000000000000");
  await expect(openLiveSession(desk.cli(), service, { appName: APP })).rejects.toMatchObject({
    code: "UNAUTHORIZED",
    exitCode: 1,
  });
});

test("more than 5 endpoints are made only when that is confirmed; those that are there do not count", async ({
  expect,
}) => {
  await using desk = await LiveDesk.open(edge);
  const session = await desk.session();
  const six = ["a", "b", "c", "d", "e", "f"].map((name) => declared(name));
  expect(await confirmProvisioning(desk.cli({ isYes: true }), session, six)).toBe(true);
  await expect(confirmProvisioning(desk.cli(), session, six)).rejects.toMatchObject({
    message: expect.stringMatching(/\b6\b/),
    advice: [expect.stringContaining("--yes")],
  });
  await session.place(declared("a"));
  expect(await confirmProvisioning(desk.cli(), session, six)).toBe(true);
});

// Ended the hard way

/** A process that has placed `one`, and was killed. */
async function killed(desk: LiveDesk): Promise<string> {
  const { baseUrl, apiKey } = desk.access;
  const command = new RunningCommand(process.execPath, [PROCESS, baseUrl, apiKey], {
    cwd: desk.directory,
    env: ENVIRONMENT,
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
  expect(screen).toMatch(/! .*\blive-one \(\w+\)/);
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
    env: ENVIRONMENT,
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
  return { project: directory, environment: ENVIRONMENT };
}
