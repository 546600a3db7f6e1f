/** Apps, environments and the endpoints that they own. */
import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import { FLASH_ENVIRONMENTS_MAX } from "../../src/db/flash/environments.ts";
import { FLASH_MANIFESTS_AT_ONCE } from "../../src/management/loaders.ts";
import { environmentKey } from "../../src/auth/derived-keys.ts";
import {
  archive,
  ask,
  built,
  deployed,
  endpointInput,
  environmentState,
  filledWithEnvironments,
  finalized,
  freshApp,
  madeApp,
  madeEnvironment,
  manifestOf,
  prepared,
  put,
  savedInto,
} from "./flash-client.ts";
import { codeOf, freshClient, post, savedEndpoint, savedVolume, type Client } from "./graphql-client.ts";
import { keyWith } from "./key-client.ts";
import { endpointObject } from "./object.ts";
import { issueAt } from "./message-facts.ts";

async function errorOf(client: Client, document: string, variables: object = {}): Promise<string> {
  const answer = await client.send(document, variables);
  return `${codeOf(answer)}: ${answer.errors?.[0].message}`;
}

async function endpointsOf(client: Client): Promise<{ id: string; name: string }[]> {
  return (await ask(client, "{ myself { endpoints { id name } } }")).myself.endpoints;
}

async function shownEndpoint(client: Client, id: string): Promise<object> {
  return (await ask(client, `{ myself { endpoint(id: "${id}") { version activeBuildid } } }`)).myself
    .endpoint;
}

const SAVE = "mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id version activeBuildid } }";
const DELETE_ENVIRONMENT = "mutation ($id: String) { deleteFlashEnvironment(flashEnvironmentId: $id) }";
const DELETE_APP = "mutation ($id: String) { deleteFlashApp(flashAppId: $id) }";

describe("names", () => {
  const hostile = ["", "-a", "_a", "a b", "../a", "a/b", "a'; DROP", "ü", "a\n", "a".repeat(192)];

  test("of apps, environments and endpoints are refused where they do not fit", async ({ expect }) => {
    const client = await freshApp();
    const { appId, environmentId } = client;
    const app = "mutation ($name: String) { createFlashApp(input: { name: $name }) { id } }";
    const environment =
      "mutation ($input: CreateFlashEnvironmentInput) { createFlashEnvironment(input: $input) { id } }";
    for (const name of hostile) {
      expect([name, await errorOf(client, app, { name })]).toEqual([
        name,
        expect.stringMatching(/^INVALID_INPUT: name/),
      ]);
      const input = { flashAppId: appId, name };
      expect(await errorOf(client, environment, { input })).toMatch(/^INVALID_INPUT: name/);
      const endpoint = endpointInput(environmentId, name);
      // Blanks around a name of an endpoint mean nothing.
      if (name.trim() === name)
        expect(await errorOf(client, SAVE, { input: endpoint })).toMatch(/^INVALID_INPUT: name/);
    }
    expect(await errorOf(client, "mutation { createFlashApp { id } }")).toMatch(/^INVALID_INPUT: name/);
  });

  test("that are taken are refused as such, in their app and account only", async ({ expect }) => {
    const client = await freshClient();
    const { appId } = await madeApp(client, "shop");
    await expect(madeApp(client, "shop")).rejects.toThrow(/APP_NAME_TAKEN: name: .*'shop'/);
    await expect(madeEnvironment(client, appId, "production")).rejects.toThrow(
      /FLASH_ENVIRONMENT_NAME_TAKEN: name: .*'production'/,
    );
    await madeApp(client, "other");
    await madeApp(await freshClient(), "shop");
  });

  test("given to two at once are given to one", async ({ expect }) => {
    const client = await freshClient();
    const made = await Promise.allSettled(Array.from({ length: 4 }, () => madeApp(client, "shop")));
    expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const [app] = (await ask(client, "{ myself { flashApps { id } } }")).myself.flashApps;
    const environments = Array.from({ length: 4 }, () => madeEnvironment(client, app.id, "staging"));
    const settled = await Promise.allSettled(environments);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(settled.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []))).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining("FLASH_ENVIRONMENT_NAME_TAKEN")),
    );
  });
});

test("an app has quota for so many environments and no more", async ({ expect }) => {
  const client = await freshApp();
  await filledWithEnvironments(client, FLASH_ENVIRONMENTS_MAX);
  await expect(madeEnvironment(client, client.appId, "one-more")).rejects.toThrow(/LIMIT_REACHED: .*\b100\b/);
});

test("a key that may only read sees apps and changes nothing", async ({ expect }) => {
  const client = await freshApp();
  const key = await keyWith(client.accountId, { graphql: "read", endpoints: "none" });
  const send = async (query: string) => await post(`/?api_key=${key}`, JSON.stringify({ query }));
  const { data } = await send("{ myself { flashApps { id flashEnvironments { id } } } }");
  expect(data.myself.flashApps).toEqual([
    { id: client.appId, flashEnvironments: [{ id: client.environmentId }] },
  ]);
  for (const mutation of [
    'createFlashApp(input: { name: "a" }) { id }',
    `deleteFlashApp(flashAppId: "${client.appId}")`,
    `prepareFlashArtifactUpload(input: { flashAppId: "${client.appId}", tarballSize: 10 }) { uploadUrl }`,
  ]) {
    expect(codeOf(await send(`mutation { ${mutation} }`))).toBe("INSUFFICIENT_PERMISSION");
  }
});

describe("an endpoint of an environment", () => {
  test("is one for each name, however often and by however many it is saved", async ({ expect }) => {
    const client = await freshApp();
    const { environmentId } = client;
    await deployed(client, environmentId, await built(client, client));
    const saved = await Promise.all(Array.from({ length: 4 }, () => savedInto(client, environmentId)));
    expect(new Set(saved.map(({ id }) => id)).size).toBe(1);
    const again = await savedInto(client, environmentId);
    expect(again).toMatchObject({ id: saved[0]?.id, version: 1 });
    expect(await endpointsOf(client)).toEqual([{ id: again.id, name: "gpu_worker" }]);

    const staging = await madeEnvironment(client, client.appId, "staging");
    expect((await savedInto(client, staging)).id).not.toBe(again.id);
    expect(
      (await savedEndpoint(client, ', name: "gpu_worker"').catch(() => savedEndpoint(client))).id,
    ).toBeTruthy();
  });

  test("an identical deploy changes nothing, a change of code alone is a release", async ({ expect }) => {
    const client = await freshApp();
    const { environmentId } = client;
    const manifest = manifestOf();
    const first = await built(client, client, archive(1_000, 1), manifest);
    await deployed(client, environmentId, first);
    const before = await savedInto(client, environmentId);
    expect(before).toMatchObject({ version: 1, activeBuildid: first });

    const same = await built(client, client, archive(1_000, 1), { ...manifest, generated_at: "later" });
    expect(same).toBe(first);
    await deployed(client, environmentId, same);
    expect(await savedInto(client, environmentId)).toEqual(before);

    const second = await built(client, client, archive(1_000, 2), manifest);
    await deployed(client, environmentId, second);
    expect(
      (await ask(client, `{ myself { endpoint(id: "${before.id}") { version activeBuildid } } }`)).myself,
    ).toEqual({ endpoint: { version: 1, activeBuildid: first } });
    expect(await savedInto(client, environmentId)).toEqual({ ...before, version: 2, activeBuildid: second });

    const query = `{ myself { endpoint(id: "${before.id}") { releases {
      version createdAt apiKeyId apiKeyName flashBuildId changes { field old new }
    } } } }`;
    const { releases } = (await ask(client, query)).myself.endpoint;
    const author = {
      apiKeyId: expect.any(String),
      apiKeyName: expect.any(String),
      createdAt: expect.any(String),
    };
    expect(releases).toEqual([
      {
        ...author,
        version: 2,
        flashBuildId: second,
        changes: [{ field: "flashBuildId", old: first, new: second }],
      },
      { ...author, version: 1, flashBuildId: first, changes: [] },
    ]);
  });

  test("a template that is saved releases the active build, and only when it changes", async ({ expect }) => {
    const client = await freshApp();
    const { environmentId } = client;
    const manifest = manifestOf();
    await deployed(client, environmentId, await built(client, client, archive(1_000, 1), manifest));
    const { id, templateId } = await savedInto(client, environmentId);
    const second = await built(client, client, archive(1_000, 2), manifest);
    await deployed(client, environmentId, second);
    const save = async (value: string) =>
      await ask(
        client,
        "mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { env { key value } } }",
        {
          input: { id: templateId, env: [{ key: "A", value }], volumeInGb: 0 },
        },
      );
    const shown = async () =>
      (await ask(client, `{ myself { endpoint(id: "${id}") { version activeBuildid } } }`)).myself.endpoint;
    await save("1");
    expect(await shown()).toMatchObject({ version: 1 });
    await save("2");
    expect(await shown()).toEqual({ version: 2, activeBuildid: second });
  });

  test("variables and code that change in one deploy are one release", async ({ expect }) => {
    const client = await freshApp();
    const { environmentId } = client;
    await deployed(client, environmentId, await built(client, client, archive(1_000, 1)));
    const { id } = await savedInto(client, environmentId);
    const second = await built(client, client, archive(1_000, 2));
    await deployed(client, environmentId, second);
    const input = endpointInput(environmentId);
    const template = { imageName: "edgerun/flash:py3.12-latest", env: [{ key: "A", value: "2" }] };
    await ask(client, SAVE, { input: { ...input, id, template } });
    expect(await shownEndpoint(client, id)).toEqual({ version: 2, activeBuildid: second });
  });

  test("that is only scaled keeps code and variables, whatever was made active meanwhile", async ({
    expect,
  }) => {
    const client = await freshApp();
    const { environmentId } = client;
    const first = await built(client, client, archive(1_000, 1));
    await deployed(client, environmentId, first);
    const { id } = await savedInto(client, environmentId);
    const second = await built(client, client, archive(1_000, 2));
    await deployed(client, environmentId, second);
    await ask(client, SAVE, { input: { id, workersMax: 5 } });
    expect(await shownEndpoint(client, id)).toEqual({ version: 1, activeBuildid: first });
    await ask(client, SAVE, { input: { id, env: [{ key: "B", value: "1" }] } });
    expect(await shownEndpoint(client, id)).toEqual({ version: 2, activeBuildid: second });
  });

  test("with its own image is not released with the code", async ({ expect }) => {
    const client = await freshApp();
    const { environmentId } = client;
    const own = { own: { is_load_balanced: false, client_mode: true, functions: [] } };
    const manifest = { resources: { ...manifestOf().resources, ...own } };
    await deployed(client, environmentId, await built(client, client, archive(1_000, 1), manifest));
    const before = await savedInto(client, environmentId, "own");
    expect(before).toMatchObject({ version: 1, activeBuildid: null });
    await deployed(client, environmentId, await built(client, client, archive(1_000, 2), manifest));
    expect(await savedInto(client, environmentId, "own")).toEqual(before);
  });

  test("goes into an environment that is the account's and where its name is free", async ({ expect }) => {
    const [client, other] = [await freshApp(), await freshApp()];
    for (const unknown of ["none", other.environmentId]) {
      const input = endpointInput(unknown);
      expect(await errorOf(client, SAVE, { input })).toMatch(
        new RegExp(`^FLASH_ENVIRONMENT_NOT_FOUND: flashEnvironmentId: .*'${unknown}'`),
      );
    }
    const { id } = await savedInto(client, client.environmentId, "one");
    const { id: twoId } = await savedInto(client, client.environmentId, "two");
    expect(await errorOf(client, SAVE, { input: { id: twoId, name: "one" } })).toMatch(
      new RegExp(`^ENDPOINT_NAME_TAKEN: name: .*'one'.*${id}`),
    );
    const [{ data }] = [await client.send(SAVE, { input: { id: twoId, name: "three" } })];
    expect(data.saveEndpoint.version).toBe(1);
    expect((await savedInto(client, client.environmentId, "two")).id).not.toBe(twoId);
  });

  test("names the environment that it belongs to, for workers that know themselves only", async ({
    expect,
  }) => {
    const client = await freshApp();
    const { environmentId } = client;
    const { id } = await savedInto(client, environmentId);
    const document = "query ($id: String) { flashEnvironment(flashEnvironmentId: $id) { id name } }";
    expect((await ask(client, document, { id })).flashEnvironment).toEqual({
      id: environmentId,
      name: "production",
    });
    const free = await savedEndpoint(client);
    expect((await ask(client, document, { id: free.id })).flashEnvironment).toBeNull();
    expect((await ask(await freshClient(), document, { id })).flashEnvironment).toBeNull();
  });
});

describe("an environment", () => {
  test("shows its endpoints and their volumes", async ({ expect }) => {
    const client = await freshApp();
    const volumeId = await savedVolume(client);
    const one = await savedInto(client, client.environmentId, "one", { networkVolumeId: volumeId });
    const two = await savedInto(client, client.environmentId, "two", {
      networkVolumeIds: [{ networkVolumeId: volumeId }],
    });
    await savedEndpoint(client);
    const { flashEnvironment } = await ask(
      client,
      `{ flashEnvironment(flashEnvironmentId: "${client.environmentId}") { endpoints { id } networkVolumes { id } } }`,
    );
    expect(flashEnvironment.endpoints).toEqual([{ id: one.id }, { id: two.id }]);
    expect(flashEnvironment.networkVolumes).toEqual([{ id: volumeId }]);
  });

  test("is DEPLOYED when a build has all of its addresses, and not before, nor another one", async ({
    expect,
  }) => {
    const client = await freshApp();
    const staging = await madeEnvironment(client, client.appId, "staging");
    const manifest = manifestOf(["a", "b"]);
    const buildId = await built(client, client, archive(), manifest);
    for (const id of [client.environmentId, staging]) await deployed(client, id, buildId);
    const { id } = await savedInto(client, client.environmentId, "a");
    const statesOf = async (addresses: object, endpointId?: string) => {
      const a = { ...manifest.resources["a"], ...(endpointId && { endpoint_id: endpointId }) };
      const told = { ...manifest, resources: { ...manifest.resources, a }, resources_endpoints: addresses };
      await ask(
        client,
        "mutation ($input: UpdateFlashBuildManifestInput) { updateFlashBuildManifest(input: $input) { id } }",
        {
          input: { flashBuildId: buildId, manifest: told },
        },
      );
      return await Promise.all([client.environmentId, staging].map((one) => environmentState(client, one)));
    };
    expect(await statesOf({ a: "x" }, id)).toEqual(["DEPLOYING", "DEPLOYING"]);
    expect(await statesOf({ a: "x", b: "y" }, id)).toEqual(["DEPLOYED", "DEPLOYING"]);
    expect(await statesOf({ a: "x", b: "y" })).toEqual(["DEPLOYED", "DEPLOYED"]);
  });

  test("takes a build of its own app only", async ({ expect }) => {
    const [client, stranger] = [await freshApp(), await freshApp()];
    const other = await madeApp(client);
    for (const buildId of ["none", await built(client, other), await built(stranger, stranger)]) {
      await expect(deployed(client, client.environmentId, buildId)).rejects.toThrow("FLASH_BUILD_NOT_FOUND");
    }
    await expect(deployed(client, stranger.environmentId, await built(client, client))).rejects.toThrow(
      "FLASH_ENVIRONMENT_NOT_FOUND",
    );
  });

  test("gives its workers the URLs of its own endpoints, under the host that they call", async ({
    expect,
  }) => {
    const client = await freshApp();
    const staging = await madeEnvironment(client, client.appId, "staging");
    const manifest = manifestOf(["a", "b"], { resources_endpoints: { a: "of nobody" } });
    const buildId = await built(client, client, archive(), manifest);
    for (const id of [client.environmentId, staging]) await deployed(client, id, buildId);
    const queue = await savedInto(client, client.environmentId, "a");
    const standalone = await savedInto(client, client.environmentId, "b", {
      type: "LB",
      scalerType: "REQUEST_COUNT",
    });
    await savedInto(client, staging, "a");

    const key = await environmentKey(env, client.environmentId);
    const query = `{ flashEnvironment(flashEnvironmentId: "${queue.id}") { id activeBuildId }
      flashBuild(flashBuildId: "${buildId}") { manifest } }`;
    const answer = await post("http://gateway.example/", JSON.stringify({ query }), {
      authorization: `Bearer ${key}`,
    });
    expect(answer.errors).toBeUndefined();
    expect(answer.data.flashEnvironment).toEqual({ id: client.environmentId, activeBuildId: buildId });
    expect(answer.data.flashBuild.manifest.resources_endpoints).toEqual({
      a: `http://gateway.example/v2/${queue.id}`,
      b: `http://gateway.example/lb/${standalone.id}`,
    });
    expect((await client.send(query)).data.flashBuild.manifest.resources_endpoints).toEqual({
      a: "of nobody",
    });
  });
});

test("keys of endpoints are not stored in a manifest, which users with read access may see", async ({
  expect,
}) => {
  const client = await freshApp();
  const manifest = manifestOf();
  const resources = { gpu_worker: { ...manifest.resources["gpu_worker"], aiKey: "era_secret" } };
  const buildId = await built(client, client, archive(), { ...manifest, resources });
  const { flashBuild } = await ask(client, `{ flashBuild(flashBuildId: "${buildId}") { manifest } }`);
  expect(flashBuild.manifest).toEqual(manifest);
});

test("manifests of many builds are not shown in one document", async ({ expect }) => {
  const client = await freshApp();
  for (let seed = 0; seed <= FLASH_MANIFESTS_AT_ONCE; seed += 1) {
    await built(client, client, archive(), manifestOf([`worker-${seed}`]));
  }
  const document = `{ flashApp(flashAppId: "${client.appId}") { flashBuilds { id manifest } } }`;
  const answer = await client.send(document);
  expect(answer.errors[0].message).toMatch(issueAt("manifest", FLASH_MANIFESTS_AT_ONCE + 1));
  const listed = await ask(client, document.replace("manifest", ""));
  expect(listed.flashApp.flashBuilds).toHaveLength(FLASH_MANIFESTS_AT_ONCE + 1);
});

describe("deleting", () => {
  test("an environment goes with its endpoints, whatever their worker limits", async ({ expect }) => {
    const client = await freshApp();
    const { environmentId } = client;
    const ids = [];
    for (const name of ["one", "two"]) {
      ids.push((await savedInto(client, environmentId, name, { workersMin: 1, workersMax: 3 })).id);
    }
    const free = await savedEndpoint(client);
    await ask(client, DELETE_ENVIRONMENT, { id: environmentId });
    expect((await endpointsOf(client)).map(({ id }) => id)).toEqual([free.id]);
    for (const id of ids) expect((await endpointObject(id).health()).kind).toBe("unconfigured");
    const { myself } = await ask(client, "{ myself { flashApps { id flashEnvironments { id } } } }");
    expect(myself.flashApps).toEqual([{ id: client.appId, flashEnvironments: [] }]);
    expect(await errorOf(client, DELETE_ENVIRONMENT, { id: environmentId })).toContain(
      "FLASH_ENVIRONMENT_NOT_FOUND",
    );
  });

  test("an app goes with environments, endpoints, builds and what lies in the bucket", async ({ expect }) => {
    const client = await freshApp();
    await deployed(client, client.environmentId, await built(client, client, archive(1_000, 1)));
    await built(client, client, archive(1_000, 2), manifestOf(["other"]));
    await savedInto(client, client.environmentId, "one", { workersMin: 2 });
    const staging = await madeEnvironment(client, client.appId, "staging");
    await savedInto(client, staging, "one");
    const open = await prepared(client, client, { tarballSize: 1_000 });
    await put(open.uploadUrl, archive(1_000, 3));
    const prefix = `${client.accountId}/${client.appId}/`;
    expect((await env.ARTIFACTS.list({ prefix })).objects).toHaveLength(3);

    await ask(client, DELETE_APP, { id: client.appId });
    expect(await endpointsOf(client)).toEqual([]);
    expect((await env.ARTIFACTS.list({ prefix })).objects).toEqual([]);
    expect((await ask(client, "{ myself { flashApps { id } } }")).myself.flashApps).toEqual([]);
    expect(await errorOf(client, DELETE_APP, { id: client.appId })).toMatch(
      /^APP_NOT_FOUND: .*app not found/,
    );
    expect((await put(open.uploadUrl, archive(1_000, 3))).status).toBe(404);
  });

  test("nothing comes into an environment that is being deleted, and deleting again finishes it", async ({
    expect,
  }) => {
    const client = await freshApp();
    const { environmentId } = client;
    const buildId = await built(client, client);
    const { id } = await savedInto(client, environmentId);
    // What is left of a deletion that was cut off.
    await env.DB.prepare("UPDATE flash_environment SET state = 'DELETING' WHERE id = ?")
      .bind(environmentId)
      .run();
    expect(await environmentState(client, environmentId)).toBe("DELETING");
    await expect(savedInto(client, environmentId, "late")).rejects.toThrow(/flashEnvironmentId: .*delet/);
    await expect(deployed(client, environmentId, buildId)).rejects.toThrow(/flashEnvironmentId: .*delet/);
    await expect(madeEnvironment(client, client.appId, "production")).rejects.toThrow(
      /FLASH_ENVIRONMENT_NAME_TAKEN: name: .*'production'/,
    );
    // Its endpoints may still be scaled down.
    await ask(client, SAVE, { input: { id, workersMin: 0, workersMax: 0 } });
    await ask(client, DELETE_ENVIRONMENT, { id: environmentId });
    expect(await endpointsOf(client)).toEqual([]);
    await madeEnvironment(client, client.appId, "production");
  });

  test("endpoints that could not be deleted are named, and go the next time", async ({ expect }) => {
    const client = await freshApp();
    const { id } = await savedInto(client, client.environmentId, "stubborn");
    const failing = {
      ...env,
      DB: new Proxy(env.DB, {
        get: (target, name) =>
          name === "prepare"
            ? (sql: string) => target.prepare(sql.replace(/delete from "endpoint"/, 'delete from "nothing"'))
            : Reflect.get(target, name),
      }),
    };
    const body = JSON.stringify({ query: DELETE_APP, variables: { id: client.appId } });
    const answer = await post(`/?api_key=${client.key}`, body, {}, failing);
    expect(codeOf(answer)).toBe("UNAVAILABLE");
    expect(answer.errors[0].message).toContain(`stubborn (${id})`);
    await ask(client, DELETE_APP, { id: client.appId });
    expect(await endpointsOf(client)).toEqual([]);
  });

  test("while others deploy leaves nothing behind", async ({ expect }) => {
    const client = await freshApp();
    const { appId, environmentId } = client;
    const bytes = archive();
    const { uploadUrl, objectKey } = await prepared(client, client, { tarballSize: bytes.length });
    await put(uploadUrl, bytes);
    await Promise.allSettled([
      savedInto(client, environmentId, "one"),
      finalized(client, client, objectKey),
      ask(client, DELETE_APP, { id: appId }),
      savedInto(client, environmentId, "two"),
      madeEnvironment(client, appId, "late"),
    ]);
    await ask(client, DELETE_APP, { id: appId }).catch(() => {});
    expect(await endpointsOf(client)).toEqual([]);
    expect((await env.ARTIFACTS.list({ prefix: `${client.accountId}/${appId}/` })).objects).toEqual([]);
  });
});
