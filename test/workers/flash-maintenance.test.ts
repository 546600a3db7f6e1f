/** What maintenance does about builds that nothing uses, and uploads that became none. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, test, vi } from "vitest";
import { FLASH_BUILDS_RETAINED } from "../../src/management/flash/artifact-removal.ts";
import { ARTIFACT_UPLOAD_TTL_MS } from "../../src/management/flash/uploads.ts";
import { ORPHAN_RETENTION_MS } from "../../src/db/templates.ts";
import { openDatabase } from "../../src/db/database.ts";
import { findFlashBuild, insertFlashBuildIfStored } from "../../src/db/flash/builds.ts";
import { MAINTENANCE_TASKS } from "../../src/maintenance/tasks.ts";
import {
  archive,
  ask,
  built,
  deployed,
  finalized,
  freshApp,
  manifestOf,
  prepared,
  put,
  savedInto,
  sha256Of,
} from "./flash-client.ts";
import type { Client } from "./graphql-client.ts";
import { passTime } from "./object.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function run(name: string): Promise<number> {
  const task = MAINTENANCE_TASKS.find((one) => one.name === name);
  if (task === undefined) throw new Error(`no task ${name}`);
  return await task.run({ env, db: openDatabase(env.DB), now: Date.now() });
}

async function buildsOf(client: Client, appId: string): Promise<string[]> {
  const { flashApp } = await ask(client, `{ flashApp(flashAppId: "${appId}") { flashBuilds { id } } }`);
  return flashApp.flashBuilds.map(({ id }: { id: string }) => id);
}

async function objectsOf({ accountId, appId }: { accountId: string; appId: string }): Promise<number> {
  return (await env.ARTIFACTS.list({ prefix: `${accountId}/${appId}/` })).objects.length;
}

test("builds that nothing uses go, but for the newest; their objects follow when none shares them", async ({
  expect,
}) => {
  const client = await freshApp();
  const { appId, environmentId } = client;
  const shared = archive(1_000, 1);
  const manifest = manifestOf();
  // The environment has an endpoint of the first build, and is itself at the second.
  const pinned = await built(client, client, archive(1_000, 2), manifest);
  await deployed(client, environmentId, pinned);
  await savedInto(client, environmentId);
  const active = await built(client, client, archive(1_000, 3), manifest);
  await deployed(client, environmentId, active);
  const oldest = await built(client, client, shared, manifestOf(["old"]));
  const alone = await built(client, client, archive(1_000, 4), manifestOf(["alone"]));
  const kept: string[] = [];
  for (let count = 0; count < FLASH_BUILDS_RETAINED; count += 1) {
    passTime(1_000);
    kept.push(await built(client, client, shared, manifestOf([`new-${count}`])));
  }
  expect(await objectsOf(client)).toBe(4);
  const db = openDatabase(env.DB);
  const ended = await findFlashBuild(db, client.accountId, alone);
  if (ended === undefined) throw new Error("the build is not there");

  expect(await run("end unused flash builds")).toBe(2);
  const left = await buildsOf(client, appId);
  expect(new Set(left)).toEqual(new Set([pinned, active, ...kept]));
  expect(left).not.toContain(oldest);
  expect(left).not.toContain(alone);
  expect(await run("end unused flash builds")).toBe(0);

  expect(await objectsOf(client)).toBe(4); // a client may be reading it
  const author = { accountId: client.accountId, apiKeyId: "key", operation: "test", now: Date.now() };
  // A caller that read the build before its removal cannot store another one from it.
  const revived = { ...ended, id: "revived", manifest: manifestOf() };
  expect(await insertFlashBuildIfStored(db, author, revived, undefined)).toBeUndefined();
  passTime(ORPHAN_RETENTION_MS + 1_000);
  await run("remove ended uploads");
  expect(await objectsOf(client)).toBe(3);
  expect(await built(client, client, archive(1_000, 4), manifestOf(["alone"]))).toBe(alone);
});

test("a build that is finalized again counts as new", async ({ expect }) => {
  const client = await freshApp();
  const manifest = manifestOf(["first"]);
  const first = await built(client, client, archive(), manifest);
  for (let count = 0; count < FLASH_BUILDS_RETAINED; count += 1) {
    passTime(1_000);
    await built(client, client, archive(), manifestOf([`new-${count}`]));
  }
  passTime(1_000);
  await built(client, client, archive(), manifest);
  await run("end unused flash builds");
  const left = await buildsOf(client, client.appId);
  expect([left.length, left[0]]).toEqual([FLASH_BUILDS_RETAINED, first]);
});

test("what came of an upload that became no build goes with it, an hour after its end", async ({
  expect,
}) => {
  const client = await freshApp();
  const whole = await prepared(client, client, { tarballSize: 1_000 });
  await put(whole.uploadUrl, archive(1_000));
  const bytes = archive(8 * 1024 * 1024 + 10);
  const announced = { tarballSize: bytes.length, tarballSha256: await sha256Of(bytes) };
  const parts = await prepared(client, client, announced);
  await put(`${parts.uploadUrl}/parts/2`, bytes.slice(8 * 1024 * 1024));
  const [row] = (
    await env.DB.prepare("SELECT multipart_id FROM flash_upload WHERE object_key = ?")
      .bind(parts.objectKey)
      .all<{ multipart_id: string }>()
  ).results;

  passTime(ARTIFACT_UPLOAD_TTL_MS + 1_000);
  await run("remove ended uploads");
  expect(await objectsOf(client)).toBe(1);
  // The removed upload takes no more parts, and the artifact gets a new upload.
  expect((await prepared(client, client, announced)).objectKey).not.toBe(parts.objectKey);
  passTime(ORPHAN_RETENTION_MS);
  await run("remove ended uploads");
  expect(await objectsOf(client)).toBe(0);
  const multipart = env.ARTIFACTS.resumeMultipartUpload(parts.objectKey, row?.multipart_id ?? "");
  await expect(multipart.uploadPart(1, bytes.slice(0, 8 * 1024 * 1024))).rejects.toThrow("10024");
  await expect(finalized(client, client, whole.objectKey)).rejects.toThrow("ARTIFACT_NOT_FOUND");
});

test("builds of the latest versions of an endpoint stay, so that it can go back to them", async ({
  expect,
}) => {
  const client = await freshApp();
  const { appId, environmentId } = client;
  const versions: string[] = [];
  for (let count = 0; count < 12; count += 1) {
    passTime(1_000);
    versions.push(await built(client, client, archive(1_000, count), manifestOf()));
    await deployed(client, environmentId, versions.at(-1) ?? "");
    await savedInto(client, environmentId);
  }
  for (let count = 0; count < FLASH_BUILDS_RETAINED; count += 1) {
    passTime(1_000);
    await built(client, client, archive(), manifestOf([`new-${count}`]));
  }
  expect(await run("end unused flash builds")).toBe(2);
  expect(await buildsOf(client, appId)).toEqual(expect.arrayContaining(versions.slice(2)));
});
