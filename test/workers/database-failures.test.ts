/** What callers see when D1 fails, and what is left behind: every question of every operation fails once. */
import { beforeEach, describe, test, vi } from "vitest";
import { edgeRoutes } from "../../src/routes.ts";
import {
  codeOf,
  freshClient,
  savedEndpoint,
  savedVolume,
  type Answer,
  type Client,
} from "./graphql-client.ts";
import { withFailure } from "./tapped-database.ts";

/** Each makes ready what it needs and gives the mutation, which a client may send again when it failed. */
const OPERATIONS: Record<string, (client: Client) => Promise<string> | string> = {
  saveTemplate: () =>
    'saveTemplate(input: { name: "t", imageName: "i", containerDiskInGb: 1, volumeInGb: 0 }) { id }',
  "saveTemplate of an endpoint": async (client) => {
    const { templateId } = await savedEndpoint(client);
    return `saveTemplate(input: { id: "${templateId}", imageName: "other:1" }) { id }`;
  },
  "saveEndpoint by id": async (client) => {
    const { id } = await savedEndpoint(client);
    const volumeId = await savedVolume(client);
    return `saveEndpoint(input: { id: "${id}", networkVolumeId: "${volumeId}", template: { imageName: "b" } }) { id }`;
  },
  secretCreate: () => 'secretCreate(input: { name: "S", value: "v" }) { id }',
  createNetworkVolume: () =>
    'createNetworkVolume(input: { name: "v", size: 1, dataCenterId: "EU-RO-1" }) { id }',
  saveRegistryAuth: () => 'saveRegistryAuth(input: { name: "r", username: "u", password: "p" }) { id }',
  createApiKey: () => 'createApiKey(input: { name: "k", level: ALL }) { token }',
  createSignInLink: () => "createSignInLink { url }",
  joinTokenCreate: () => 'joinTokenCreate(input: { name: "j" }) { token }',
  webhookSecretRotate: () => "webhookSecretRotate { secret }",
  updateUserSettings: () => 'updateUserSettings(input: { pubKey: "k" }) { id }',
};

beforeEach(() => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  return () => logged.mockRestore();
});

/** Sends the mutation with each of its questions to D1 failing once, each time for another account. */
async function failEverywhere(
  prepare: (client: Client) => Promise<string> | string,
  look: (failed: Answer, again: () => Promise<Answer>, client: Client) => Promise<void>,
): Promise<number> {
  for (let question = 1; ; question += 1) {
    const { bindings, arm, disarm, hasFailed } = withFailure();
    const client = await freshClient(bindings);
    const mutation = `mutation { ${await prepare(client)} }`;
    arm(question);
    const failed = await client.send(mutation);
    const isOver = !hasFailed();
    disarm();
    if (isOver) return question - 1;
    if (failed.errors !== undefined) await look(failed, async () => await client.send(mutation), client);
  }
}

describe.for(Object.entries(OPERATIONS))("%s", ([, prepare]) => {
  test("fails as something to try again, and is done when it is", async ({ expect }) => {
    const questions = await failEverywhere(prepare, async (failed, again) => {
      expect(codeOf(failed)).toMatch(/^(INTERNAL|UNAVAILABLE)$/);
      expect(JSON.stringify(failed.body)).not.toContain("D1");
      expect((await again()).errors).toBeUndefined();
    });
    expect(questions).toBeGreaterThan(2);
  });
});

test("a new endpoint that is stored is named in the failure; otherwise nothing of it is there", async ({
  expect,
}) => {
  const prepare = () =>
    'saveEndpoint(input: { name: "e", gpuIds: "ADA_24", template: { name: "inline", imageName: "i" } }) { id }';
  await failEverywhere(prepare, async (failed, again, client) => {
    const { data } = await client.send("{ myself { endpoints { id } } }");
    const ids = data.myself.endpoints.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(codeOf(failed) === "UNAVAILABLE" ? 1 : 0);
    for (const id of ids) {
      expect(failed.errors[0].message).toContain(`endpoint ${id} is stored`);
      const saved = await client.send(`mutation { saveEndpoint(input: { id: "${id}" }) { id } }`);
      expect(saved.data.saveEndpoint).toEqual({ id });
    }
    if (ids.length === 0) expect((await again()).errors).toBeUndefined();
  });
});

test("a key is valid even if its use cannot be recorded", async ({ expect }) => {
  const { bindings, arm, hasFailed } = withFailure();
  const client = await freshClient(bindings);
  arm(2);
  expect((await client.send("{ myself { id } }")).data).toEqual({ myself: { id: client.accountId } });
  expect(hasFailed()).toBe(true);
});

test("REST and the queue API answer in JSON as well", async ({ expect }) => {
  for (const [method, path] of [
    ["GET", "/v1/templates"],
    ["POST", "/v1/networkvolumes"],
    ["GET", "/v2/some/health"],
    ["POST", "/v2/some/run"],
  ] as const) {
    for (const question of [1, 3]) {
      const { bindings, arm } = withFailure();
      const { key } = await freshClient(bindings);
      arm(question);
      const body = JSON.stringify(
        path.startsWith("/v1") ? { name: "v", size: 1, dataCenterId: "EU-RO-1" } : { input: {} },
      );
      const init = { method, headers: { Authorization: `Bearer ${key}` } };
      const request = method === "POST" ? { ...init, body } : init;
      const response = await edgeRoutes().request(path, request, bindings);
      expect([path, question, response.status]).toEqual([path, question, 500]);
      expect(await response.json()).toMatchObject({
        code: "internal",
        error: expect.stringMatching(/[Tt]ry again/),
      });
    }
  }
});
