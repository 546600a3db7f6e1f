/** Artifacts on their way into the bucket: whole, in parts, broken off, and not what they were said to be. */
import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { AwsV4Signer } from "aws4fetch";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { ARTIFACT_UPLOAD_TTL_MS } from "../../src/management/flash/uploads.ts";
import { ARTIFACT_MAX_BYTES } from "../../src/contract/flash/flash-limits.ts";
import edge from "../../src/index.ts";
import {
  archive,
  ask,
  built,
  deployed,
  finalized,
  freshApp,
  madeApp,
  manifestOf,
  prepared,
  put,
  sha256Of,
} from "./flash-client.ts";
import { freshClient } from "./graphql-client.ts";
import { passTime } from "./object.ts";
import { withMeantimeBefore } from "./tapped-database.ts";
import { holding } from "./message-facts.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

async function announcementOf(bytes: Uint8Array<ArrayBuffer>) {
  return { tarballSize: bytes.length, tarballSha256: await sha256Of(bytes) };
}

async function stored(objectKey: string): Promise<Uint8Array | null> {
  const object = await env.ARTIFACTS.get(objectKey);
  return object && new Uint8Array(await object.arrayBuffer());
}

const PART_BYTES = 8 * 1024 * 1024;
/** Two parts: a whole one and a little more. */
const LARGE = archive(PART_BYTES + 500, 7);
const partOf = (number: number) => LARGE.slice((number - 1) * PART_BYTES, number * PART_BYTES);

describe("the storage of an account for artifacts", () => {
  test("counts builds and open uploads once each, and refuses what goes beyond it", async ({ expect }) => {
    const client = await freshClient({ ...env, ARTIFACT_STORAGE_GB: "0.00001" }); // 10,000 bytes
    const app = { ...client, ...(await madeApp(client)) };
    const [first, second] = [archive(6_000, 1), archive(6_000, 2)];
    await prepared(app, app, await announcementOf(first));
    const { uploadUrl, objectKey } = await prepared(app, app, await announcementOf(first)); // goes on
    const refused = /LIMIT_REACHED: .* 0\.00 GB/;
    const announced = await announcementOf(second);
    await expect(prepared(app, app, announced)).rejects.toThrow(refused);
    await put(uploadUrl, first);
    await finalized(app, app, objectKey, manifestOf());
    await finalized(app, app, objectKey, manifestOf(["other"])); // of the same bytes
    await expect(prepared(app, app, announced)).rejects.toThrow(refused);
    await prepared(app, app, await announcementOf(archive(3_500, 3)));
  });
});

describe("an artifact that comes whole", () => {
  test("is stored unchanged, and becomes the same build however often it is finalized", async ({
    expect,
  }) => {
    const client = await freshApp();
    const bytes = archive(3_000);
    const { uploadUrl, objectKey, isUploaded } = await prepared(client, client, await announcementOf(bytes));
    expect(isUploaded).toBe(false);
    expect((await put(uploadUrl, bytes)).status).toBe(204);
    expect((await put(uploadUrl, bytes)).status).toBe(204); // an answer was lost
    const manifest = manifestOf();
    const buildId = await finalized(client, client, objectKey, manifest);
    expect(await finalized(client, client, objectKey, { ...manifest, generated_at: "later" })).toBe(buildId);
    expect(await finalized(client, client, objectKey, manifestOf(["other"]))).not.toBe(buildId);
    expect(await stored(objectKey)).toEqual(bytes);
    expect((await put(uploadUrl, bytes)).status).toBe(404); // it has become a build
  });

  test("without a known length is taken as well", async ({ expect }) => {
    const client = await freshApp();
    const bytes = archive(200_000);
    const { uploadUrl, objectKey } = await prepared(client, client, { tarballSize: bytes.length });
    const pieces = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(bytes.slice(0, 70_000));
        controller.enqueue(bytes.slice(70_000));
        controller.close();
      },
    });
    expect((await put(uploadUrl, pieces)).status).toBe(204);
    await finalized(client, client, objectKey);
    expect(await stored(objectKey)).toEqual(bytes);
  });

  test("of two concurrent requests with different bytes one is stored, and the build has its hash", async ({
    expect,
  }) => {
    const client = await freshApp();
    const [one, two] = [archive(50_000, 1), archive(50_000, 2)];
    const { uploadUrl, objectKey } = await prepared(client, client, { tarballSize: 50_000 });
    const answers = await Promise.all([put(uploadUrl, one), put(uploadUrl, two)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 400]);
    const buildId = await finalized(client, client, objectKey);
    const { flashBuild } = await ask(
      client,
      `{ flashBuild(flashBuildId: "${buildId}") { sha256 sizeBytes } }`,
    );
    const kept = new Uint8Array((await stored(objectKey)) ?? []);
    expect(flashBuild).toEqual({ sha256: await sha256Of(kept), sizeBytes: 50_000 });
  });

  test("stays where it was finalized before its own request has ended", async ({ expect }) => {
    const client = await freshApp();
    const bytes = archive(3_000, 5);
    const { uploadUrl, objectKey } = await prepared(client, client, await announcementOf(bytes));
    const bindings = withMeantimeBefore(2, async () => await finalized(client, client, objectKey));
    const request = new Request(uploadUrl, { method: "PUT", body: bytes });
    const { status } = await edge.fetch(request, bindings, createExecutionContext());
    expect(status).toBe(204);
    expect(await stored(objectKey)).toEqual(bytes);
  });

  test.for([
    ["too short", archive(2_999), holding(3_000)],
    ["too long", archive(3_001), holding(3_000)],
    ["no archive", new Uint8Array(3_000), /gzip/],
    ["other bytes than announced", archive(3_000, 9), "SHA-256"],
    ["nothing", new Uint8Array(0), holding(3_000)],
  ] as const)("is refused when it is %s, and nothing is kept", async ([, bytes, message], { expect }) => {
    const client = await freshApp();
    const { uploadUrl, objectKey } = await prepared(client, client, await announcementOf(archive(3_000)));
    const { status, body } = await put(uploadUrl, bytes);
    expect([status, body.code]).toEqual([400, "invalid_input"]);
    expect(body.error).toMatch(message);
    expect(await env.ARTIFACTS.head(objectKey)).toBeNull();
    await expect(finalized(client, client, objectKey)).rejects.toThrow("ARTIFACT_NOT_FOUND");
    // It may still come as it should be.
    expect((await put(uploadUrl, archive(3_000))).status).toBe(204);
    await finalized(client, client, objectKey);
  });

  test("is not sent again to an app that has it, nor before it was finalized", async ({ expect }) => {
    const client = await freshApp();
    const bytes = archive(3_000);
    const announced = await announcementOf(bytes);
    const first = await prepared(client, client, announced);
    await put(first.uploadUrl, bytes);
    const again = await prepared(client, client, announced);
    expect(again).toMatchObject({ isUploaded: true, uploadUrl: "", objectKey: first.objectKey });
    const buildId = await finalized(client, client, again.objectKey);
    const known = await prepared(client, client, announced);
    expect(known).toMatchObject({ isUploaded: true, uploadUrl: "", objectKey: first.objectKey });
    const deployedElsewhere = { generated_at: "2020-01-01", resources_endpoints: { gpu_worker: "x" } };
    expect(
      await finalized(client, client, known.objectKey, manifestOf(["gpu_worker"], deployedElsewhere)),
    ).toBe(buildId);
    const stranger = await freshClient();
    await expect(prepared(stranger, client, announced)).rejects.toThrow("APP_NOT_FOUND");
  });

  test("the same bytes under two uploads lie there once for all builds", async ({ expect }) => {
    const client = await freshApp();
    const bytes = archive(3_000);
    const one = await prepared(client, client, { tarballSize: bytes.length });
    const two = await prepared(client, client, { tarballSize: bytes.length });
    for (const { uploadUrl } of [one, two]) await put(uploadUrl, bytes);
    const buildId = await finalized(client, client, one.objectKey);
    expect(await finalized(client, client, two.objectKey)).toBe(buildId);
    expect(await finalized(client, client, two.objectKey)).toBe(buildId);
    await finalized(client, client, two.objectKey, manifestOf(["other"]));
    const { flashApp } = await ask(
      client,
      `{ flashApp(flashAppId: "${client.appId}") { flashBuilds { objectKey } } }`,
    );
    expect(flashApp.flashBuilds).toEqual([{ objectKey: one.objectKey }, { objectKey: one.objectKey }]);
  });
});

describe("an artifact that comes in parts", () => {
  test("may arrive in any order and twice, and resumes where it stopped", async ({ expect }) => {
    const client = await freshApp();
    const announced = await announcementOf(LARGE);
    const first = await prepared(client, client, announced);
    expect(first).toMatchObject({ partBytes: PART_BYTES, partsUploaded: [] });
    expect((await put(`${first.uploadUrl}/parts/2`, partOf(2))).status).toBe(204);
    await expect(finalized(client, client, first.objectKey)).rejects.toThrow(/parts\D* 1\b/);

    // The client was killed: it prepares again, and gets another address.
    const second = await prepared(client, client, announced);
    expect(second).toMatchObject({ objectKey: first.objectKey, partsUploaded: [2], isUploaded: false });
    expect((await put(`${first.uploadUrl}/parts/1`, partOf(1))).status).toBe(404);
    expect((await put(`${second.uploadUrl}/parts/1`, partOf(1))).status).toBe(204);
    expect((await put(`${second.uploadUrl}/parts/2`, partOf(2))).status).toBe(204);
    expect((await prepared(client, client, announced)).partsUploaded).toEqual([1, 2]);

    const [one, two] = await Promise.all([
      finalized(client, client, first.objectKey),
      finalized(client, client, first.objectKey),
    ]);
    expect(two).toBe(one);
    expect(await finalized(client, client, first.objectKey)).toBe(one);
    expect(await sha256Of((await stored(first.objectKey)) as Uint8Array<ArrayBuffer>)).toBe(
      announced.tarballSha256,
    );
  });

  test("of parts that begin at the same time none is lost", async ({ expect }) => {
    const client = await freshApp();
    const { uploadUrl, objectKey } = await prepared(client, client, await announcementOf(LARGE));
    const answers = await Promise.all(
      [1, 2, 2].map((part) => put(`${uploadUrl}/parts/${part}`, partOf(part))),
    );
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
    await finalized(client, client, objectKey);
  });

  test("is rejected when it differs from the announcement, and can be prepared again", async ({ expect }) => {
    const client = await freshApp();
    const announced = await announcementOf(LARGE);
    const { uploadUrl, objectKey } = await prepared(client, client, announced);
    for (const [part, bytes, message] of [
      ["1", partOf(2), holding(1, 8_388_608)],
      ["2", partOf(1), holding(2, 500)],
      ["1", new Uint8Array(PART_BYTES), /gzip/],
      ["3", partOf(2), holding(3, 1, 2)],
      ["0", partOf(2), holding(0)],
      ["one", partOf(2), holding("one")],
    ] as const) {
      const { status, body } = await put(`${uploadUrl}/parts/${part}`, bytes);
      expect([part, status]).toEqual([part, 400]);
      expect(body.error).toMatch(message);
    }
    const changed = partOf(2);
    changed[3] = 99;
    await put(`${uploadUrl}/parts/1`, partOf(1));
    expect((await put(`${uploadUrl}/parts/2`, changed)).status).toBe(204);
    await expect(finalized(client, client, objectKey)).rejects.toThrow(/SHA-256/);
    expect(await env.ARTIFACTS.head(objectKey)).toBeNull();
    expect(await prepared(client, client, announced)).toMatchObject({ partsUploaded: [], isUploaded: false });
  });
});

describe("what an upload does not take", () => {
  test("an unknown URL, and an expired one", async ({ expect }) => {
    const client = await freshApp();
    const bytes = archive(3_000);
    const { uploadUrl, objectKey } = await prepared(client, client, await announcementOf(bytes));
    const wrong = uploadUrl.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    for (const url of [wrong, `${wrong}/parts/1`]) {
      const { status, body } = await put(url, bytes);
      expect([status, body.code]).toEqual([404, "not_found"]);
    }
    passTime(ARTIFACT_UPLOAD_TTL_MS + 1);
    expect((await put(uploadUrl, bytes)).status).toBe(404);
    await expect(finalized(client, client, objectKey)).rejects.toThrow("ARTIFACT_NOT_FOUND");
  });

  test("more than 1.5 GB, nothing, or an invalid hash", async ({ expect }) => {
    const client = await freshApp();
    for (const [announced, message] of [
      [{ tarballSize: ARTIFACT_MAX_BYTES + 1 }, holding("tarballSize", 1, 1_500_000_000)],
      [{ tarballSize: 0 }, holding("tarballSize", 1)],
      [{ tarballSize: 10, tarballSha256: "ABC" }, holding("tarballSha256", 64)],
    ] as const) {
      await expect(prepared(client, client, announced)).rejects.toThrow(message);
    }
  });

  test("keys of objects and ids of apps that are another account's", async ({ expect }) => {
    const [mine, other] = [await freshApp(), await freshApp()];
    const { uploadUrl, objectKey } = await prepared(mine, mine, { tarballSize: 1_000 });
    await put(uploadUrl, archive(1_000));
    await expect(finalized(other, mine, objectKey)).rejects.toThrow("APP_NOT_FOUND");
    await expect(finalized(other, other, objectKey)).rejects.toThrow("ARTIFACT_NOT_FOUND");
    await expect(finalized(mine, mine, "../../other")).rejects.toThrow("ARTIFACT_NOT_FOUND");
  });

  test.for([
    [{}, "manifest.resources"],
    ["text", "manifest: "],
    [{ resources: { "../x": { is_load_balanced: false, functions: [] } } }, "../x"],
    [{ resources: { a: { functions: [] } } }, "manifest.resources.a.is_load_balanced"],
    [
      { resources: { a: { is_load_balanced: false, functions: [], workersMax: -1 } } },
      "manifest.resources.a.workersMax",
    ],
  ] as const)("a manifest that is none: %j", async ([manifest, message], { expect }) => {
    const client = await freshApp();
    const { uploadUrl, objectKey } = await prepared(client, client, { tarballSize: 1_000 });
    await put(uploadUrl, archive(1_000));
    await expect(finalized(client, client, objectKey, manifest as object)).rejects.toThrow(message);
  });

  test("nulls of other clients in a manifest say nothing", async ({ expect }) => {
    const client = await freshApp();
    const resource = { is_load_balanced: false, functions: [{ name: "f", module: "m" }], workersMin: null };
    const template = { dockerArgs: null, containerDiskInGb: 64 };
    const manifest = { resources: { a: { ...resource, template } } };
    expect(await built(client, client, archive(), manifest)).toMatch(/^[a-z0-9]{14}$/);
  });
});

describe("an artifact that is fetched", () => {
  async function downloadUrl(): Promise<{ url: string; bytes: Uint8Array; sha256: string }> {
    const client = await freshApp();
    const bytes = archive(10_000, 3);
    await deployed(client, client.environmentId, await built(client, client, bytes));
    const { flashEnvironment } = await ask(
      client,
      `{ flashEnvironment(flashEnvironmentId: "${client.environmentId}") { activeArtifact { downloadUrl expiresAt } } }`,
    );
    const { downloadUrl: url, expiresAt } = flashEnvironment.activeArtifact;
    if (Date.parse(expiresAt) <= Date.now()) throw new Error("expired at once");
    return { url, bytes, sha256: await sha256Of(bytes) };
  }
  const get = async (url: string, headers: Record<string, string> = {}) =>
    await exports.default.fetch(url, { headers });

  test("comes whole, or the part that is asked for", async ({ expect }) => {
    const { url, bytes, sha256 } = await downloadUrl();
    const whole = await get(url);
    expect([whole.status, whole.headers.get("ETag")]).toEqual([200, `"${sha256}"`]);
    expect(new Uint8Array(await whole.arrayBuffer())).toEqual(bytes);
    const part = await get(url, { Range: "bytes=9990-" });
    expect([part.status, part.headers.get("Content-Range")]).toEqual([206, "bytes 9990-9999/10000"]);
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(9_990));
    expect((await get(url, { Range: "bytes=10000-" })).status).toBe(416);
  });

  test("not by an address that has expired, or that was changed", async ({ expect }) => {
    const { url } = await downloadUrl();
    const [, expiresAt = ""] = /\.(\d+)\./.exec(url) ?? [];
    for (const wrong of [
      url.replace(expiresAt, String(Number(expiresAt) + 1)),
      url.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
      url.replace(/[^/]+$/, "x"),
    ]) {
      expect((await get(wrong)).status).toBe(404);
    }
    passTime(3_600_000);
    expect((await get(url)).status).toBe(404);
  });
});

test("with S3 credentials an upload without a hash goes straight to the bucket's own address", async ({
  expect,
}) => {
  const client = await freshClient({
    ...env,
    ARTIFACTS_S3_ENDPOINT: "https://account.r2.cloudflarestorage.com",
    ARTIFACTS_S3_BUCKET: "artifacts",
    ARTIFACTS_S3_ACCESS_KEY_ID: "id",
    ARTIFACTS_S3_SECRET_ACCESS_KEY: "secret",
  });
  const { createFlashApp } = await ask(client, 'mutation { createFlashApp(input: { name: "a" }) { id } }');
  const app = { appId: createFlashApp.id };
  const bytes = archive(2_000);
  const { uploadUrl, objectKey, expiresAt } = await prepared(client, app, { tarballSize: bytes.length });
  const url = new URL(uploadUrl);
  expect(url.origin + url.pathname).toBe(`https://account.r2.cloudflarestorage.com/artifacts/${objectKey}`);
  expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(3_600_000);
  const unsigned = new URL(url);
  const datetime = url.searchParams.get("X-Amz-Date") ?? "";
  for (const name of [...url.searchParams.keys()]) {
    if (name !== "X-Amz-Expires") unsigned.searchParams.delete(name);
  }
  const again = new AwsV4Signer({
    method: "PUT",
    url: unsigned.toString(),
    accessKeyId: "id",
    secretAccessKey: "secret",
    service: "s3",
    region: "auto",
    signQuery: true,
    datetime,
  });
  expect((await again.sign()).url.searchParams.get("X-Amz-Signature")).toBe(
    url.searchParams.get("X-Amz-Signature"),
  );

  await env.ARTIFACTS.put(objectKey, bytes); // what such a PUT does
  const buildId = await finalized(client, app, objectKey);
  const { flashBuild } = await ask(client, `{ flashBuild(flashBuildId: "${buildId}") { sha256 } }`);
  expect(flashBuild.sha256).toBe(await sha256Of(bytes));
  // With a hash it can be checked and resumed here.
  expect((await prepared(client, app, await announcementOf(archive(2_001)))).uploadUrl).toContain(
    "/artifacts/uploads/",
  );
});
