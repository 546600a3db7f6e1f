/**
 * Live sessions beside a real edge: what is made, made again and deleted, whatever happens meanwhile; what becomes of
 * live endpoints when `flash dev` is ended the hard way, and what other commands see of them.
 */
import { once } from "node:events";
import { join } from "node:path";
import { beforeAll, test } from "vitest";
import { showApp } from "../../cli/apps/apps.ts";
import { listEnvironments } from "../../cli/apps/environments.ts";
import { chooseEnvironment, findApp } from "../../cli/deploy/target.ts";
import { findLeftovers, offerRemoval } from "../../cli/dev/session/leftovers.ts";
import { openLiveSession } from "../../cli/dev/session/open-session.ts";
import { confirmProvisioning } from "../../cli/dev/session/provisioning.ts";
import { networkVolumes } from "../../cli/service/endpoint-operations.ts";
import { readTracked } from "../../cli/project/tracked-resources.ts";
import { undeploy } from "../../cli/apps/undeploy.ts";
import { newAccount } from "../support/shared-edge.ts";
import { makeEndpoint } from "./support/deployed-endpoint.ts";
import { EdgeProxy, type Fate } from "./support/edge-proxy.ts";
import { APP, declared, LiveFixture } from "./support/live-fixture.ts";
import { RunningCommand } from "./support/running-command.ts";
import { CONTROL_C, talk } from "./support/terminal-dialog.ts";

const PROCESS = join(import.meta.dirname, "support/session-process.ts");
const ENVIRONMENT = {
  PATH: process.env["PATH"] ?? "",
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "",
};

let baseUrl: string;
beforeAll(async () => {
  ({ baseUrl } = await newAccount("live sessions"));
});

test("an endpoint is created once, and updated when its configuration has changed", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const session = await fixture.session();
  const places = await Promise.all([1, 2, 3].map(async () => await session.place(declared("one"))));
  expect(new Set(places.map(({ endpointId }) => endpointId)).size).toBe(1);
  const again = await session.place(declared("one", { workersMax: 3 }));
  expect(again).toEqual(places[0]);
  const [{ endpoints } = { endpoints: [] }] = await fixture.present();
  expect(endpoints).toEqual([{ id: again.endpointId, name: "live-one", workersMax: 3 }]);
});

test("a queue that became routes is created again under its name", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const session = await fixture.session();
  const queue = await session.place(declared("one"));
  const routes = await session.place(declared("one", { is_load_balanced: true }));
  expect(routes.endpointId).not.toBe(queue.endpointId);
  expect(Object.keys(await readTracked(fixture.directory))).toContain("LB:live-one");
  expect(Object.keys(await readTracked(fixture.directory))).not.toContain("QB:live-one");
});

test("three endpoints are created at a time; one that fails is named with the reason, and the others continue", async ({
  expect,
}) => {
  await using proxy = await EdgeProxy.open(baseUrl);
  await using fixture = await LiveFixture.open();
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
  const session = await fixture.session({ url: proxy.url });
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
  await using fixture = await LiveFixture.open();
  const session = await fixture.session();
  const networkVolume = { name: "models", size: 10, dataCenterId: "EU-RO-1" };
  const both = ["one", "two"].map((name) => declared(name, { networkVolume }));
  const results = await session.placeAll(both, () => undefined);
  expect(results.map(({ outcome }) => outcome)).toEqual(["deployed", "deployed"]);
  const { myself } = await fixture.service().query(networkVolumes);
  expect(myself.networkVolumes.map(({ name }) => name)).toEqual(["models"]);
});

test("an endpoint that another program has deleted is created again", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const session = await fixture.session();
  const before = await session.place(declared("one"));
  await fixture.delete("Endpoint", before.endpointId);
  session.forget("one");
  const after = await session.place(declared("one"));
  expect(after.endpointId).not.toBe(before.endpointId);
  expect(after.liveToken).toBe(before.liveToken);
});

test("an ended session is opened again with its endpoints, with a warning", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const session = await fixture.session();
  const before = await session.place(declared("one"));
  await session.place(declared("two"));
  const [ended] = await fixture.present();
  await fixture.delete("FlashEnvironment", ended?.id ?? "");
  session.forget("one");
  const after = await session.place(declared("one"));
  expect(after.liveToken).not.toBe(before.liveToken);
  await fixture.shown(/^! The live session had ended on the service.* 1 live endpoint created again/);
  await session.place(declared("two"));
  const present = await fixture.present();
  expect(present.map(({ endpoints }) => endpoints.map(({ name }) => name).toSorted())).toEqual([
    ["live-one", "live-two"],
  ]);
});

test("the lease is renewed, through an outage too, and an ended session is noticed", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(baseUrl);
  await using fixture = await LiveFixture.open();
  const renewed = Promise.withResolvers<void>();
  proxy.when("renewFlashEnvironmentLease", () => (renewed.resolve(), "pass"));
  const session = await fixture.session({ url: proxy.url, renewedEveryMs: 20 });
  await session.place(declared("one"));
  const [first] = await fixture.present();
  await renewed.promise;
  proxy.when("renewFlashEnvironmentLease", () => "cut");
  await fixture.shown(/^! The live session could not be renewed: .* cannot be reached/);
  proxy.when("renewFlashEnvironmentLease", () => "pass");
  await fixture.shown(/^✓ The live session is renewed again/);
  const [second] = await fixture.present();
  expect(Date.parse(second?.leaseExpiresAt ?? "")).toBeGreaterThan(Date.parse(first?.leaseExpiresAt ?? ""));
  await fixture.delete("FlashEnvironment", first?.id ?? "");
  await fixture.shown(/^! The live session had ended/);
});

test("an endpoint is deleted with its declaration", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const session = await fixture.session();
  await session.placeAll([declared("one"), declared("two")], () => undefined);
  await session.keepOnly(["two"]);
  const [{ endpoints } = { endpoints: [] }] = await fixture.present();
  expect(endpoints.map(({ name }) => name)).toEqual(["live-two"]);
  expect(session.left()).toEqual([`live-two (${endpoints[0]?.id})`]);
});

test("a session that is closed while an endpoint is being created leaves nothing", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(baseUrl);
  await using fixture = await LiveFixture.open();
  const events = new EventTarget();
  const release = Promise.withResolvers<Fate>();
  proxy.when("saveEndpoint", async () => {
    events.dispatchEvent(new Event("saving"));
    return await release.promise;
  });
  const session = await fixture.session({ url: proxy.url });
  const saving = once(events, "saving");
  const placing = session.place(declared("one"));
  await saving;
  expect(session.left()).toEqual(["live-one"]);
  const closing = session.close();
  release.resolve("pass");
  await placing;
  expect(await closing).toEqual({ deleted: 1, left: [] });
  expect(await fixture.present()).toEqual([]);
  expect(await readTracked(fixture.directory)).toEqual({});
  await expect(session.place(declared("one"))).rejects.toThrowErrorMatchingInlineSnapshot(
    `[Failure: The live session has ended.]`,
  );
});

test("Ctrl+C stops creating endpoints, and deletes those in progress", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(baseUrl);
  await using fixture = await LiveFixture.open();
  let saves = 0;
  const release = Promise.withResolvers<Fate>();
  const three = Promise.withResolvers<void>();
  proxy.when("saveEndpoint", async () => {
    saves += 1;
    if (saves === 3) three.resolve();
    return await release.promise;
  });
  const session = await fixture.session({ url: proxy.url });
  const names = ["a", "b", "c", "d", "e"].map((name) => declared(name));
  const making = session.placeAll(names, () => undefined);
  await three.promise;
  fixture.interrupt();
  release.resolve("pass");
  await expect(making).rejects.toThrow("Cancelled.");
  expect(await session.close()).toEqual({ deleted: 3, left: [] });
  expect(saves).toBe(3);
  expect(await fixture.present()).toEqual([]);
});

test("endpoints that could not be deleted are named and stay tracked", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(baseUrl);
  await using fixture = await LiveFixture.open();
  proxy.when("deleteFlashEnvironment", () => "refuse");
  const session = await fixture.session({ url: proxy.url });
  const { endpointId } = await session.place(declared("one"));
  expect(await session.close()).toEqual({ deleted: 0, left: [`live-one (${endpointId})`] });
  expect(Object.keys(await readTracked(fixture.directory))).toContain("QB:live-one");
});

test("two sessions of one project have their own endpoints, and both are tracked", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const [one, other] = await Promise.all([fixture.session(), fixture.session()]);
  const names = ["a", "b", "c"].map((name) => declared(name));
  await Promise.all([one.placeAll(names, () => undefined), other.placeAll(names, () => undefined)]);
  const keys = Object.keys(await readTracked(fixture.directory));
  expect(keys.filter((key) => key.startsWith("Session:live-"))).toHaveLength(2);
  expect(keys.filter((key) => key.startsWith("QB:live-"))).toHaveLength(6);
  expect(keys).toContain("QB:live-a");
  await one.close();
  expect((await fixture.present()).map(({ endpoints }) => endpoints.length)).toEqual([3]);
  expect(Object.keys(await readTracked(fixture.directory))).toHaveLength(4);
});

test("a wrong key fails at the start", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const service = fixture.service(baseUrl, "er_0000000000000000000000000000000000000000");
  await expect(openLiveSession(fixture.cli(), service, { appName: APP })).rejects.toMatchObject({
    code: "UNAUTHORIZED",
    exitCode: 1,
  });
});

test("creating more than 5 endpoints needs a confirmation; existing ones do not count", async ({
  expect,
}) => {
  await using fixture = await LiveFixture.open();
  const session = await fixture.session();
  const six = ["a", "b", "c", "d", "e", "f"].map((name) => declared(name));
  expect(await confirmProvisioning(fixture.cli({ isYes: true }), session, six)).toBe(true);
  await expect(confirmProvisioning(fixture.cli(), session, six)).rejects.toMatchObject({
    message: expect.stringMatching(/\b6\b/),
    advice: [expect.stringContaining("--yes")],
  });
  await session.place(declared("a"));
  expect(await confirmProvisioning(fixture.cli(), session, six)).toBe(true);
});

// Ended the hard way

/** A process that has placed `one`, and was killed. */
async function killed(fixture: LiveFixture): Promise<string> {
  const { baseUrl, apiKey } = fixture.access;
  const command = new RunningCommand(process.execPath, [PROCESS, baseUrl, apiKey], {
    cwd: fixture.directory,
    env: ENVIRONMENT,
  });
  const [, id = ""] = await command.printed(/^placed (\w+)$/m);
  await command.end("SIGKILL");
  return id;
}

test("endpoints of a killed process are used again without a terminal", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const left = await killed(fixture);
  const leftovers = await offerRemoval(
    fixture.cli(),
    fixture.service(),
    await findLeftovers(fixture.cli(), fixture.service()),
  );
  await fixture.shown(new RegExp(`^! .* left 1 live endpoint: live-one \\(${left}\\)`));
  const session = await fixture.session({ leftovers });
  expect(await session.placeAll([declared("one")], () => undefined)).toEqual([
    { name: "one", outcome: "cached" },
  ]);
  expect(session.left()).toEqual([`live-one (${left})`]);
  // Another one that starts now finds a session that is in use.
  expect(await findLeftovers(fixture.cli(), fixture.service())).toEqual([]);
  const other = await fixture.session({ leftovers });
  expect(other.left()).toEqual([]);
});

test("endpoints of a killed process are deleted on request", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  await killed(fixture);
  const cli = fixture.cli({ isYes: true });
  expect(await offerRemoval(cli, fixture.service(), await findLeftovers(cli, fixture.service()))).toEqual([]);
  await fixture.shown(/^✓ Deleted 1 live endpoint\.$/);
  expect(await fixture.present()).toEqual([]);
  expect(await readTracked(fixture.directory)).toEqual({});
});

test("a leftover that the service has deleted meanwhile is forgotten", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  await killed(fixture);
  const [session] = await fixture.present();
  await fixture.delete("FlashEnvironment", session?.id ?? "");
  expect(await findLeftovers(fixture.cli(), fixture.service())).toEqual([]);
  expect(await readTracked(fixture.directory)).toEqual({});
});

test("the second Ctrl+C names what is left", async ({ expect }) => {
  await using proxy = await EdgeProxy.open(baseUrl);
  await using fixture = await LiveFixture.open();
  proxy.when("deleteFlashEnvironment", async () => await new Promise(() => undefined));
  const { screen, exitCode } = await talk(inTerminal(fixture), command(fixture, proxy.url), [
    { see: "placed", type: CONTROL_C },
    { see: "Ctrl+C again", type: CONTROL_C },
  ]);
  expect(screen).toMatch(/! .*\blive-one \(\w+\)/);
  expect(exitCode).toBe(130);
});

test("a terminal that is closed leaves nothing on the service", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const { exitCode } = await talk(inTerminal(fixture), command(fixture), [{ see: "placed", hangUp: true }]);
  expect(exitCode).toBe(130);
  expect(await fixture.present()).toEqual([]);
});

test("an uncaught error is shown, and leaves nothing on the service", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const { baseUrl, apiKey } = fixture.access;
  const running = new RunningCommand(process.execPath, [PROCESS, baseUrl, apiKey, "stray"], {
    cwd: fixture.directory,
    env: ENVIRONMENT,
  });
  await running.over();
  expect(running.output).toMatch(/^✗ Error: stray$[^]*^deleted 1$/m);
  expect(await fixture.present()).toEqual([]);
});

test("other commands distinguish sessions from environments", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const { access } = fixture;
  await makeEndpoint(access, { name: "one", environment: "production", app: APP });
  const session = await fixture.session();
  const { endpointId } = await session.place(declared("one"));
  const cli = { ...fixture.cli(), environment: { EDGERUN_URL: access.baseUrl, SVC_API_KEY: access.apiKey } };

  expect(chooseEnvironment(await findApp(fixture.service(), APP), undefined)).toBe("production");
  await listEnvironments(cli, APP);
  await fixture.shown(/^live-\w{6} .* LIVE$/);
  await showApp(cli, APP);
  await fixture.shown(/^live-\w{6} +LIVE /);
  await undeploy(cli, { app: APP, name: "list" });
  await fixture.shown(new RegExp(`^active +live-one +${endpointId}$`));
});

test("undeploy deletes a live endpoint by its name, and forgets ended sessions", async ({ expect }) => {
  await using fixture = await LiveFixture.open();
  const session = await fixture.session();
  const { endpointId } = await session.place(declared("one"));
  await session.place(declared("two"));
  const { access } = fixture;
  const environment = { EDGERUN_URL: access.baseUrl, SVC_API_KEY: access.apiKey };
  const cli = { ...fixture.cli({ isYes: true }), environment };

  await undeploy(cli, { app: APP, name: "live-one" });
  await fixture.shown(new RegExp(`^✓ Deleted live-one \\(${endpointId}\\)\\.$`));
  expect(Object.keys(await readTracked(fixture.directory))).not.toContain("QB:live-one");

  const [present] = await fixture.present();
  await fixture.delete("FlashEnvironment", present?.id ?? "");
  await undeploy(cli, { app: APP, name: undefined, cleanupStale: true });
  await fixture.shown(/^✓ Forgot 1 endpoint\.$/);
  expect(await readTracked(fixture.directory)).toEqual({});
});

function command({ access }: LiveFixture, url = access.baseUrl): string {
  return `${process.execPath} ${PROCESS} ${url} ${access.apiKey}`;
}

function inTerminal({ directory }: LiveFixture) {
  return { project: directory, environment: ENVIRONMENT };
}
