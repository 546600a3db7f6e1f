import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import {
  archive,
  ask,
  built,
  deployed,
  environmentState,
  finalized,
  freshApp,
  madeApp,
  madeEnvironment,
  manifestOf,
  prepared,
  put,
  savedInto,
} from "./flash-client.ts";
import { codeOf, freshClient } from "./graphql-client.ts";

const APP = `id name flashEnvironments { id name state activeBuildId createdAt }
  flashBuilds { id objectKey sha256 sizeBytes createdAt }`;

describe("the way of the original client, from an unknown app to a deployed one", () => {
  test("every step is answered as it reads it", async ({ expect }) => {
    const client = await freshClient();
    const byName = `query ($flashAppName: String!) { flashAppByName(flashAppName: $flashAppName) { ${APP} } }`;
    const unknown = await client.send(byName, { flashAppName: "shop" });
    expect(codeOf(unknown)).toBe("APP_NOT_FOUND");
    expect(unknown.errors[0].message.toLowerCase()).toContain("app not found");

    const { appId, environmentId } = await madeApp(client, "shop");
    expect((await ask(client, byName, { flashAppName: "shop" })).flashAppByName).toEqual({
      id: appId,
      name: "shop",
      flashEnvironments: [
        {
          id: environmentId,
          name: "production",
          state: "PENDING",
          activeBuildId: null,
          createdAt: expect.stringMatching(/^20\d\d-.*Z$/),
        },
      ],
      flashBuilds: [],
    });

    const bytes = archive(5_000);
    const { uploadUrl, objectKey } = await prepared(client, { appId }, { tarballSize: bytes.length });
    expect(await put(uploadUrl, bytes)).toEqual({ status: 204, body: null });
    const manifest = manifestOf(["gpu_worker", "cpu_worker"]);
    const buildId = await finalized(client, { appId }, objectKey, manifest);

    const { flashEnvironmentByName } = await ask(
      client,
      `query ($input: FlashEnvironmentByNameInput!) { flashEnvironmentByName(input: $input) { id name state activeBuildId
        endpoints { id name } networkVolumes { id name } } }`,
      { input: { flashAppId: appId, name: "production" } },
    );
    expect(flashEnvironmentByName).toMatchObject({ id: environmentId, endpoints: [], networkVolumes: [] });
    const { deployBuildToEnvironment } = await ask(
      client,
      `mutation ($input: DeployBuildToEnvironmentInput!) { deployBuildToEnvironment(input: $input)
        { id name activeArtifact { objectKey downloadUrl expiresAt } } }`,
      { input: { flashEnvironmentId: environmentId, flashBuildId: buildId } },
    );
    expect(deployBuildToEnvironment).toEqual({
      id: environmentId,
      name: "production",
      activeArtifact: {
        objectKey,
        downloadUrl: expect.stringMatching(/^http.*\/artifacts\/downloads\/./),
        expiresAt: expect.any(String),
      },
    });
    const flashBuild = "query ($id: String!) { flashBuild(flashBuildId: $id) { id manifest } }";
    expect((await ask(client, flashBuild, { id: buildId })).flashBuild).toEqual({ id: buildId, manifest });
    expect(await environmentState(client, environmentId)).toBe("DEPLOYING");

    const gpu = await savedInto(client, environmentId, "gpu_worker");
    const cpu = await savedInto(client, environmentId, "cpu_worker");
    const resources = {
      gpu_worker: { ...manifest.resources.gpu_worker, endpoint_id: gpu.id, aiKey: "era_secret" },
      cpu_worker: { ...manifest.resources.cpu_worker, endpoint_id: cpu.id, aiKey: "era_secret" },
    };
    const addresses = { gpu_worker: `https://edge/v2/${gpu.id}`, cpu_worker: `https://edge/v2/${cpu.id}` };
    await ask(
      client,
      "mutation ($input: UpdateFlashBuildManifestInput!) { updateFlashBuildManifest(input: $input) { id manifest } }",
      {
        input: {
          flashBuildId: buildId,
          manifest: { ...manifest, resources, resources_endpoints: addresses },
        },
      },
    );
    const { flashBuild: told } = await ask(client, flashBuild, { id: buildId });
    expect(told.manifest.resources_endpoints).toEqual(addresses);
    expect(told.manifest.resources.gpu_worker.endpoint_id).toBe(gpu.id);
    expect(await environmentState(client, environmentId)).toBe("DEPLOYED");
    const stored = await env.ARTIFACTS.get(objectKey);
    expect(new Uint8Array((await stored?.arrayBuffer()) ?? new ArrayBuffer())).toEqual(bytes);
  });
});

test("what does not exist is null, as clients expect it", async ({ expect }) => {
  const client = await freshClient();
  const { data, errors } =
    await client.send(`{ myself { flashApps { id name } } flashApp(flashAppId: "a") { id }
    flashEnvironment(flashEnvironmentId: "e") { id }
    flashEnvironmentByName(input: { flashAppId: "a", name: "production" }) { id }
    flashBuild(flashBuildId: "b") { id manifest } }`);
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    myself: { flashApps: [] },
    flashApp: null,
    flashEnvironment: null,
    flashEnvironmentByName: null,
    flashBuild: null,
  });
});

test("a listed app is DEPLOYED with the last of its endpoints, since its client does not report it", async ({
  expect,
}) => {
  const client = await freshApp();
  const { environmentId } = client;
  const resources = [
    { kind: "queue", name: "hello" },
    { kind: "api", name: "web" },
    { kind: "task", name: "once" },
  ];
  const states: (string | undefined)[] = [];
  for (const seed of [1, 2]) {
    const buildId = await built(client, client, archive(1_000, seed), { version: 1, resources });
    await deployed(client, environmentId, buildId);
    for (const [name, type] of [
      ["hello", "QB"],
      ["web", "LB"],
    ] as const) {
      await savedInto(client, environmentId, name, { type });
      states.push(await environmentState(client, environmentId));
    }
  }
  expect(states).toEqual(["DEPLOYING", "DEPLOYED", "DEPLOYING", "DEPLOYED"]);
});

test("a finished deployment is DEPLOYED or FAILED, and nothing else", async ({ expect }) => {
  const client = await freshApp();
  const { environmentId } = client;
  const finish = async (state: string) =>
    await client.send(`mutation { finishFlashDeployment(input: { flashEnvironmentId: "${environmentId}",
      state: "${state}" }) { id state } }`);
  const early = await finish("DEPLOYED");
  expect(codeOf(early)).toBe("INVALID_INPUT");
  expect(early.errors[0].message).toContain("deployBuildToEnvironment");

  await deployed(client, environmentId, await built(client, client));
  expect((await finish("FAILED")).data.finishFlashDeployment).toEqual({ id: environmentId, state: "FAILED" });
  expect((await finish("DEPLOYED")).data.finishFlashDeployment.state).toBe("DEPLOYED");
  expect(codeOf(await finish("DELETING"))).toBe("INVALID_INPUT");
  const other = await madeEnvironment(client, client.appId, "staging");
  expect(await environmentState(client, other)).toBe("PENDING");
});
