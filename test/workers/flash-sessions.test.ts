/** Sessions of flash: environments with a lease, as clients make, renew and see them. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { FLASH_ENVIRONMENTS_MAX } from "../../src/db/flash/environments.ts";
import {
  ask,
  built,
  deployed,
  filledWithEnvironments,
  freshApp,
  madeApp,
  madeEnvironment,
  madeSession,
  madeSessionApp,
  renewed,
  savedInto,
} from "./flash-client.ts";
import { codeOf, freshClient, post } from "./graphql-client.ts";
import { keyWith } from "./key-client.ts";
import { passTime } from "./object.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const SECOND = 1_000;
const DELETE = "mutation ($id: String) { deleteFlashEnvironment(flashEnvironmentId: $id) }";
const ENDED = "FLASH_ENVIRONMENT_NOT_FOUND: .*lease";

describe("a session", () => {
  test("is made with a lease and a token, and its renewal moves the end", async ({ expect }) => {
    const client = await freshApp();
    const made = await madeSession(client, client.appId, 30);
    expect(made).toMatchObject({ state: "PENDING", liveToken: expect.stringMatching(/^erl_[0-9a-f]{64}$/) });
    expect(Date.parse(made.leaseExpiresAt) - Date.now()).toBe(30 * SECOND);
    passTime(29 * SECOND);
    const longer = await renewed(client, made.id, 3_600);
    expect(longer).toEqual({ ...made, leaseExpiresAt: new Date(Date.now() + 3_600 * SECOND).toISOString() });
    passTime(3_599 * SECOND);
    expect(await savedInto(client, made.id, "live-worker")).toMatchObject({ activeBuildid: null });
    const shorter = await renewed(client, made.id, 30);
    expect(Date.parse(shorter.leaseExpiresAt) - Date.now()).toBe(30 * SECOND);
  });

  test("stands among the environments of its app, told apart by its lease", async ({ expect }) => {
    const client = await freshApp();
    passTime(1); // The oldest comes first.
    const { id, name, leaseExpiresAt, liveToken } = await madeSession(client, client.appId);
    const { flashApp } = await ask(
      client,
      `{ flashApp(flashAppId: "${client.appId}") { isForSessions flashEnvironments { id name leaseExpiresAt liveToken } } }`,
    );
    expect(flashApp).toEqual({
      isForSessions: false,
      flashEnvironments: [
        { id: client.environmentId, name: "production", leaseExpiresAt: null, liveToken: null },
        { id, name, leaseExpiresAt, liveToken },
      ],
    });
  });

  test("has a token of its own, which is hidden from keys that may only read", async ({ expect }) => {
    const client = await freshApp();
    const [one, two] = [await madeSession(client, client.appId), await madeSession(client, client.appId)];
    expect(one.liveToken).not.toBe(two.liveToken);
    const query = `{ flashEnvironment(flashEnvironmentId: "${one.id}") { name liveToken } }`;
    const reader = await keyWith(client.accountId, { graphql: "read", endpoints: "write" });
    const { data } = await post(`/?api_key=${reader}`, JSON.stringify({ query }));
    expect(data.flashEnvironment).toEqual({ name: one.name, liveToken: null });
  });

  test.for([29, 3_601, 30.5, "60"])("is not made or renewed for %s seconds", async (seconds, { expect }) => {
    const client = await freshApp();
    const { id } = await madeSession(client, client.appId);
    const leaseSeconds = seconds as number;
    await expect(madeSession(client, client.appId, leaseSeconds)).rejects.toThrow("leaseSeconds");
    await expect(renewed(client, id, leaseSeconds)).rejects.toThrow("leaseSeconds");
  });

  test("needs a lease to be renewed, and one of its own account", async ({ expect }) => {
    const client = await freshApp();
    await expect(renewed(client, client.environmentId)).rejects.toThrow(
      /INVALID_INPUT: flashEnvironmentId: .*'production'.*lease/,
    );
    const { id } = await madeSession(client, client.appId);
    const stranger = await freshClient();
    await expect(renewed(stranger, id)).rejects.toThrow(new RegExp(`FLASH_ENVIRONMENT_NOT_FOUND: .*'${id}'`));
  });

  test("is not made where nothing can sign its token", async ({ expect }) => {
    const client = await freshClient({ ...env, ENCRYPTION_KEYS: "" });
    const { appId } = await madeApp(client);
    await expect(madeSession(client, appId)).rejects.toThrow(/^NOT_CONFIGURED: .*ENCRYPTION_KEYS/);
    const { flashApp } = await ask(
      client,
      `{ flashApp(flashAppId: "${appId}") { flashEnvironments { name } } }`,
    );
    expect(flashApp.flashEnvironments).toEqual([{ name: "production" }]);
  });

  test("counts among the environments that an app may have", async ({ expect }) => {
    const client = await freshApp();
    const { appId } = client;
    await filledWithEnvironments(client, FLASH_ENVIRONMENTS_MAX - 1);
    const { id } = await madeSession(client, appId);
    await expect(madeSession(client, appId)).rejects.toThrow(
      new RegExp(`LIMIT_REACHED: .*\\b${FLASH_ENVIRONMENTS_MAX}\\b`),
    );
    await expect(madeEnvironment(client, appId, "late")).rejects.toThrow("LIMIT_REACHED");
    await ask(client, DELETE, { id });
    await madeEnvironment(client, appId, "late");
  });

  test("takes no build, so that a deploy of an older client does not end up in it", async ({ expect }) => {
    const client = await freshApp();
    const { id, name } = await madeSession(client, client.appId);
    await expect(deployed(client, id, await built(client, client))).rejects.toThrow(
      `INVALID_INPUT: flashEnvironmentId: '${name}'`,
    );
  });
});

describe("a session whose lease has lapsed", () => {
  test("is neither renewed nor saved to, from that moment on", async ({ expect }) => {
    const client = await freshApp();
    const { id } = await madeSession(client, client.appId, 30);
    await savedInto(client, id, "live-worker");
    passTime(30 * SECOND - 1);
    await savedInto(client, id, "live-worker", { workersMax: 1 });
    passTime(1);
    await expect(renewed(client, id)).rejects.toThrow(new RegExp(ENDED));
    await expect(savedInto(client, id, "live-other")).rejects.toThrow(new RegExp(ENDED));
    await expect(savedInto(client, id, "live-worker", { workersMax: 2 })).rejects.toThrow(new RegExp(ENDED));
    const loose = await savedInto(client, client.environmentId, "loose");
    const move = `mutation { saveEndpoint(input: { id: "${loose.id}", flashEnvironmentId: "${id}" }) { id } }`;
    expect(codeOf(await client.send(move))).toBe("FLASH_ENVIRONMENT_NOT_FOUND");
    await ask(client, DELETE, { id });
  });
});

describe("an app that was made for sessions", () => {
  const appsOf = async (client: Parameters<typeof ask>[0]) =>
    (await ask(client, "{ myself { flashApps { name isForSessions } } }")).myself.flashApps;

  test("goes with the last of them", async ({ expect }) => {
    const client = await freshClient();
    const appId = await madeSessionApp(client, "shop");
    const [one, two] = [await madeSession(client, appId), await madeSession(client, appId)];
    await ask(client, DELETE, { id: one.id });
    expect(await appsOf(client)).toEqual([{ name: "shop", isForSessions: true }]);
    await ask(client, DELETE, { id: two.id });
    expect(await appsOf(client)).toEqual([]);
  });

  test("stays with a build, because it was deployed", async ({ expect }) => {
    const client = await freshClient();
    const appId = await madeSessionApp(client, "shop");
    const { id } = await madeSession(client, appId);
    await built(client, { appId });
    await ask(client, DELETE, { id });
    expect(await appsOf(client)).toEqual([{ name: "shop", isForSessions: true }]);
  });

  test("lasts once a lasting environment was created in it, even after that was removed", async ({
    expect,
  }) => {
    const client = await freshClient();
    const appId = await madeSessionApp(client, "shop");
    const { id } = await madeSession(client, appId);
    await ask(client, DELETE, { id: await madeEnvironment(client, appId, "production") });
    await ask(client, DELETE, { id });
    expect(await appsOf(client)).toEqual([{ name: "shop", isForSessions: false }]);
  });

  test("lasts once the app is created explicitly; a second creation finds the name taken", async ({
    expect,
  }) => {
    const client = await freshClient();
    const appId = await madeSessionApp(client, "shop");
    await expect(madeSessionApp(client, "shop")).rejects.toThrow("APP_NAME_TAKEN");
    expect((await madeApp(client, "shop")).appId).toBe(appId);
    expect(await appsOf(client)).toEqual([{ name: "shop", isForSessions: false }]);
    await expect(madeApp(client, "shop")).rejects.toThrow("APP_NAME_TAKEN");
    await expect(madeSessionApp(client, "shop")).rejects.toThrow("APP_NAME_TAKEN");
  });

  test("is deleted with its sessions, as any app", async ({ expect }) => {
    const client = await freshClient();
    const appId = await madeSessionApp(client);
    const { id } = await madeSession(client, appId);
    await savedInto(client, id, "live-worker");
    await ask(client, "mutation ($id: String) { deleteFlashApp(flashAppId: $id) }", { id: appId });
    const { myself } = await ask(client, "{ myself { flashApps { id } endpoints { id } } }");
    expect(myself).toEqual({ flashApps: [], endpoints: [] });
  });
});

test("the audit log has all changes of a session except renewals", async ({ expect }) => {
  const client = await freshClient();
  const { id } = await madeSession(client, await madeSessionApp(client));
  await renewed(client, id);
  await ask(client, DELETE, { id });
  const { myself } = await ask(client, "{ myself { auditLog { operation subjectKind } } }");
  expect(myself.auditLog).toEqual([
    { operation: "deleteFlashEnvironment", subjectKind: "flash_app" },
    { operation: "deleteFlashEnvironment", subjectKind: "flash_environment" },
    { operation: "createFlashEnvironment", subjectKind: "flash_environment" },
    { operation: "createFlashApp", subjectKind: "flash_app" },
  ]);
});
