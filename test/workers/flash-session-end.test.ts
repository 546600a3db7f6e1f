/** The end of sessions that nobody renews: what maintenance does, and who is faster. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, test, vi } from "vitest";
import { ORPHAN_RETENTION_MS } from "../../src/db/templates.ts";
import { openDatabase } from "../../src/db/database.ts";
import { closeIfLapsed, renewLeaseIfActive } from "../../src/db/flash/environments.ts";
import { flashApp, flashEnvironment } from "../../src/db/schema.ts";
import type { Env } from "../../src/env.ts";
import { MAINTENANCE_TASKS } from "../../src/maintenance/tasks.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { ask, freshApp, madeSession, madeSessionApp, renewed, savedInto } from "./flash-client.ts";
import { lease } from "./flash-world.ts";
import { codeOf, freshClient, post, type Client } from "./graphql-client.ts";
import { endpointObject } from "./object.ts";
import { withFailure, withMeantimeBefore } from "./tapped-database.ts";

const api = new EdgeClient();
const { call, signInAs } = api;

const LAPSED = 1;
const db = openDatabase(env.DB);

/** What earlier tests have left would be ended as well. */
beforeEach(async () => {
  for (const table of [flashEnvironment, flashApp]) await db.delete(table);
});

async function run(name: string, now = Date.now(), bindings: Env = env): Promise<number> {
  const task = MAINTENANCE_TASKS.find((one) => one.name === name);
  if (task === undefined) throw new Error(`no task ${name}`);
  return await task.run({ env: bindings, db: openDatabase(bindings.DB), now });
}
const endSessions = async (...rest: [number?, Env?]) => await run("end lapsed sessions", ...rest);

/** Names of all that the account has. */
async function all(client: Client) {
  const query = "{ myself { flashApps { name flashEnvironments { name state } } endpoints { name } } }";
  const { myself } = await ask(client, query);
  return {
    apps: myself.flashApps.map(({ name }: { name: string }) => name),
    environments: myself.flashApps.flatMap(({ flashEnvironments }: { flashEnvironments: object[] }) =>
      flashEnvironments.map((one) => Object.values(one).join(" ")),
    ),
    endpoints: myself.endpoints.map(({ name }: { name: string }) => name),
  };
}
const NOTHING = { apps: [], environments: [], endpoints: [] };

describe("a session that is not renewed", () => {
  test("goes with its endpoints, whatever their workers, and its app; what is renewed or lasts stays", async ({
    expect,
  }) => {
    const client = await freshApp();
    const held = await madeSession(client, client.appId);
    const ended = await madeSession(client, client.appId);
    const other = await madeSession(client, await madeSessionApp(client, "tried"));
    await savedInto(client, client.environmentId, "deployed");
    await savedInto(client, held.id, "live-held");
    const { id } = await savedInto(client, ended.id, "live-ended", { workersMin: 1, workersMax: 3 });
    await savedInto(client, other.id, "live-other");
    await lease(ended.id, LAPSED);
    await lease(other.id, LAPSED);

    expect(await endSessions()).toBe(2);
    expect(await all(client)).toEqual({
      apps: [expect.stringMatching(/^app-/)],
      environments: ["production PENDING", `${held.name} PENDING`],
      endpoints: ["deployed", "live-held"],
    });
    expect((await endpointObject(id).health()).kind).toBe("unconfigured");
    expect(await endSessions()).toBe(0);
  });

  test("is in the audit log with its app, without an author", async ({ expect }) => {
    const client = await freshClient();
    const session = await madeSession(client, await madeSessionApp(client, "tried"));
    await savedInto(client, session.id, "live-worker");
    await lease(session.id, LAPSED);
    await endSessions();
    const { myself } = await ask(
      client,
      '{ myself { auditLog(input: { operation: "end of a lease" }) { apiKeyId apiKeyName subjectKind subjectName } } }',
    );
    const bySystem = { apiKeyId: "", apiKeyName: null };
    expect(myself.auditLog).toEqual([
      { ...bySystem, subjectKind: "flash_app", subjectName: "tried" },
      { ...bySystem, subjectKind: "flash_environment", subjectName: session.name },
      { ...bySystem, subjectKind: "endpoint", subjectName: "live-worker" },
    ]);
  });

  test("is ended once by several runs at a time", async ({ expect }) => {
    const client = await freshClient();
    const session = await madeSession(client, await madeSessionApp(client));
    for (const name of ["live-a", "live-b", "live-c"]) await savedInto(client, session.id, name);
    await lease(session.id, LAPSED);
    await Promise.all([endSessions(), endSessions(), endSessions()]);
    expect(await all(client)).toEqual(NOTHING);
    const query = '{ myself { auditLog(input: { operation: "end of a lease" }) { subjectKind } } }';
    expect((await ask(client, query)).myself.auditLog).toHaveLength(5);
  });

  test("is finished when its deletion was cut off", async ({ expect }) => {
    const client = await freshClient();
    const session = await madeSession(client, await madeSessionApp(client));
    await savedInto(client, session.id, "live-worker");
    await env.DB.prepare("UPDATE flash_environment SET state = 'DELETING', lease_expires_at = 1 WHERE id = ?")
      .bind(session.id)
      .run();
    await endSessions();
    expect(await all(client)).toEqual(NOTHING);
  });

  test("that cannot be ended keeps no other from its end, and is tried again", async ({ expect }) => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const client = await freshClient();
    const sessions = [];
    for (const name of ["one", "two", "three"]) {
      const session = await madeSession(client, await madeSessionApp(client, name));
      sessions.push({ ...session, endpointId: (await savedInto(client, session.id, "live-worker")).id });
    }
    for (const { id } of sessions) await lease(id, LAPSED);
    const [stubborn] = sessions;
    await env.DB.prepare(
      `CREATE TRIGGER stubborn BEFORE DELETE ON endpoint WHEN old.id = '${stubborn?.endpointId}'
         BEGIN SELECT RAISE(ABORT, 'stubborn'); END`,
    ).run();
    expect(await endSessions()).toBe(2);
    expect(await all(client)).toEqual({
      apps: ["one"],
      environments: [`${stubborn?.name} DELETING`],
      endpoints: ["live-worker"],
    });
    expect(JSON.stringify(logged.mock.calls)).toContain("session_not_ended");
    await env.DB.prepare("DROP TRIGGER stubborn").run();
    expect(await endSessions()).toBe(1);
    expect(await all(client)).toEqual(NOTHING);
    logged.mockRestore();
  });

  test("is ended by the next run, wherever the database failed one", async ({ expect }) => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const client = await freshClient();
    for (let question = 1; ; question += 1) {
      const session = await madeSession(client, await madeSessionApp(client));
      await savedInto(client, session.id, "live-worker");
      await lease(session.id, LAPSED);
      const { bindings, arm, hasFailed } = withFailure();
      arm(question);
      await endSessions(Date.now(), bindings).catch(() => {});
      if (!hasFailed()) break;
      await endSessions();
      await run("remove apps of no session", Date.now() + 2 * ORPHAN_RETENTION_MS);
      expect([question, await all(client)]).toEqual([question, NOTHING]);
    }
    expect(await all(client)).toEqual(NOTHING);
    logged.mockRestore();
  });

  test("takes the running job of its worker along, and its caller is answered", async ({ expect }) => {
    const client = await freshClient();
    signInAs(client);
    const session = await madeSession(client, await madeSessionApp(client));
    const { id } = await savedInto(client, session.id, "live-worker", { workersMin: 1 });
    const agent = await ScriptedAgent.join(api);
    const workerId = await agent.bringUpWorker(id);
    const waiting = call("POST", `/v2/${id}/runsync?wait=60000`, { input: {} });
    const job = await agent.take(id, workerId);
    await lease(session.id, LAPSED);
    await endSessions();
    const { status, body } = await waiting;
    expect([status, body["code"]]).toEqual([404, "endpoint_not_found"]);
    await expect(agent.complete(id, job, "late")).rejects.toThrow("404");
    expect((await agent.sync()).assignments).toEqual([]);
  });
});

describe("between renewal and end the first write decides:", () => {
  test("what was renewed during maintenance is kept", async ({ expect }) => {
    const client = await freshClient();
    const { id, name } = await madeSession(client, await madeSessionApp(client, "tried"));
    const at = Date.now();
    await lease(id, at);
    const begunBefore = { accountId: client.accountId, now: at - 1 };
    const renew = async () => await renewLeaseIfActive(db, begunBefore, id, at + 60_000);
    expect(await renewLeaseIfActive(db, { ...begunBefore, now: at }, id, at + 60_000)).toBeUndefined();
    expect(await endSessions(at, withMeantimeBefore(2, renew))).toBe(0);
    expect(await all(client)).toMatchObject({ apps: ["tried"], environments: [`${name} PENDING`] });
  });

  test("what is closed while its renewal is under way is not renewed", async ({ expect }) => {
    const client = await freshClient();
    const { id } = await madeSession(client, await madeSessionApp(client));
    await renewed(client, id); // From now on its key is known, and asks the database nothing.
    const close = vi.fn<() => Promise<boolean>>(async () => await closeIfLapsed(db, id, Date.now() + 61_000));
    const query = `mutation { renewFlashEnvironmentLease(input: { flashEnvironmentId: "${id}", leaseSeconds: 60 }) { id } }`;
    const answer = await post(
      `/?api_key=${client.key}`,
      JSON.stringify({ query }),
      {},
      withMeantimeBefore(2, close),
    );
    expect(close).toHaveResolvedWith(true);
    expect(codeOf(answer)).toBe("FLASH_ENVIRONMENT_NOT_FOUND");
    expect(answer.errors[0].message).toContain("lease");
    await endSessions(Date.now() + 61_000);
    expect(await all(client)).toEqual(NOTHING);
  });

  test("no endpoint comes in while it ends", async ({ expect }) => {
    const client = await freshClient();
    const session = await madeSession(client, await madeSessionApp(client));
    await lease(session.id, Date.now() + 20_000);
    await Promise.allSettled([
      savedInto(client, session.id, "live-a"),
      savedInto(client, session.id, "live-b"),
      endSessions(Date.now() + 21_000),
      savedInto(client, session.id, "live-c"),
    ]);
    await endSessions(Date.now() + 21_000);
    expect(await all(client)).toEqual(NOTHING);
  });
});

test("an app of sessions that never had one goes an hour later; one that lasts stays empty", async ({
  expect,
}) => {
  const client = await freshApp();
  await ask(client, `mutation { deleteFlashEnvironment(flashEnvironmentId: "${client.environmentId}") }`);
  await madeSessionApp(client, "deserted");
  await madeSession(client, await madeSessionApp(client, "in-use"));
  const later = (ms: number) => run("remove apps of no session", Date.now() + ORPHAN_RETENTION_MS + ms);
  expect(await later(-60_000)).toBe(0);
  expect(await later(60_000)).toBe(1);
  expect((await all(client)).apps).toEqual([expect.stringMatching(/^app-/), "in-use"]);
});
