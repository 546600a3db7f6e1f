import { test } from "vitest";
import { codeOf, freshClient } from "./graphql-client.ts";

test("nobody has an app, an environment or a build", async ({ expect }) => {
  const client = await freshClient();
  const { data, errors } =
    await client.send(`{ myself { flashApps { id name } } flashApp(flashAppId: "a") { id }
    flashEnvironment(flashEnvironmentId: "e") { id name state activeBuildId createdAt endpoints { id name }
      networkVolumes { id name } }
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

test("an app that is looked for by name is refused in the words that clients look for", async ({
  expect,
}) => {
  const client = await freshClient();
  const answer = await client.send(
    "query ($flashAppName: String!) { flashAppByName(flashAppName: $flashAppName) { id name } }",
    { flashAppName: "shop" },
  );
  expect(codeOf(answer)).toBe("APP_NOT_FOUND");
  expect(answer.errors[0].message.toLowerCase()).toContain("app not found");
});

test("what would make or change something is refused as not supported, in words that help", async ({
  expect,
}) => {
  const client = await freshClient();
  const calls = [
    'createFlashApp(input: { name: "shop" }) { id }',
    'deleteFlashApp(flashAppId: "a")',
    'createFlashEnvironment(input: { flashAppId: "a", name: "production" }) { id }',
    'deleteFlashEnvironment(flashEnvironmentId: "e")',
    'prepareFlashArtifactUpload(input: { flashAppId: "a", tarballSize: 1500000000 }) { uploadUrl }',
    'finalizeFlashArtifactUpload(input: { flashAppId: "a", objectKey: "k", manifest: { a: [1] } }) { id }',
    'updateFlashBuildManifest(input: { flashBuildId: "b", manifest: {} }) { id }',
    'deployBuildToEnvironment(input: { flashEnvironmentId: "e", flashBuildId: "b" }) { id }',
  ];
  for (const call of calls) {
    const answer = await client.send(`mutation { ${call} }`);
    expect([call, codeOf(answer)]).toEqual([call, "NOT_SUPPORTED"]);
    expect(answer.errors[0].message).toContain("no flash apps yet");
  }
});
