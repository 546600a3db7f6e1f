/** Secrets on their way to a host: filled in for the answer, or told as the problem that keeps a worker from starting. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeEach, describe, test } from "vitest";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { openDatabase } from "../../src/db/database.ts";
import { registryAuth, secret, template } from "../../src/db/schema.ts";
import {
  resolveAssignments,
  ANSWER_ASSIGNMENTS_MAX_CHARACTERS,
} from "../../src/management/assignments/assignments.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { until } from "./support/until.ts";

const api = new EdgeClient();
const { call, graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);

const db = openDatabase(env.DB);

type Settings = { readonly env: string; readonly endpointEnv?: string; readonly more?: string };

/** An endpoint that wants one worker. */
async function endpointWith({ env: variables, endpointEnv = "[]", more = "" }: Settings): Promise<string> {
  const name = `t-${crypto.randomUUID().slice(0, 8)}`;
  const { saveTemplate } = await graphql<{ saveTemplate: { id: string } }>(
    `mutation { saveTemplate(input: { name: "${name}", imageName: "test:1", containerDiskInGb: 5, volumeInGb: 0,
       isServerless: true, dockerArgs: "run it", env: ${variables} ${more} }) { id } }`,
  );
  const { saveEndpoint } = await graphql<{ saveEndpoint: { id: string } }>(
    `mutation { saveEndpoint(input: { name: "the endpoint", gpuIds: "AMPERE_16", workersMin: 1,
       templateId: "${saveTemplate.id}", env: ${endpointEnv} }) { id } }`,
  );
  return saveEndpoint.id;
}

async function createSecret(name: string, value: string): Promise<string> {
  const data = await graphql<{ secretCreate: { id: string } }>(
    `mutation { secretCreate(input: { name: "${name}", value: "${value}" }) { id } }`,
  );
  return data.secretCreate.id;
}

/** What the host is told to run; it asks until it is told of a worker. */
async function assigned(agent: ScriptedAgent, endpointId: string): Promise<Assignment> {
  return await until(async () => {
    const { assignments } = await agent.sync();
    return assignments.find((assignment) => assignment.endpointId === endpointId);
  }, "the host has a worker of the endpoint");
}

describe("an assignment", () => {
  test("carries the values of secrets, from the template and the endpoint alike", async ({ expect }) => {
    await createSecret("TOKEN", "hunter2");
    await createSecret("user.name-1", "{{ SECRET_TOKEN }}");
    const endpointId = await endpointWith({
      env: `[{ key: "PLAIN", value: "{{ jinja }}" }, { key: "URL", value: "https://{{SECRET_user.name-1}}:{{ RUNPOD_SECRET_TOKEN }}@x" },
             { key: "OVER", value: "{{ SECRET_NOWHERE }}" }]`,
      endpointEnv: `[{ key: "OVER", value: "{{ SECRET_TOKEN }}" }]`,
    });
    const assignment = await assigned(await ScriptedAgent.join(api), endpointId);
    expect(assignment).toMatchObject({ imageName: "test:1", dockerArgs: "run it", registryAuth: null });
    expect(assignment.problem).toBeUndefined();
    expect(assignment.env).toEqual({
      PLAIN: "{{ jinja }}",
      URL: "https://{{ SECRET_TOKEN }}:hunter2@x",
      OVER: "hunter2",
    });
    const stored = await db.select().from(template);
    expect(JSON.stringify(stored)).not.toContain("hunter2");
  });

  test("carries models with the token that opens them, which no variable has", async ({ expect }) => {
    const endpointId = await endpointWith({
      env: "[]",
      more: 'models: ["org/name@v1"], modelTokenSecret: "HF"',
    });
    const agent = await ScriptedAgent.join(api);
    const withheld = await assigned(agent, endpointId);
    expect(withheld.problem).toMatch(/'HF'.*models of template 't-[0-9a-f]{8}'/);
    expect(withheld.models).toBeUndefined();

    await createSecret("HF", "hf_hunter2");
    const { models, problem, ...others } = await assigned(agent, endpointId);
    expect({ models, problem }).toEqual({
      models: { source: "https://huggingface.co", references: ["org/name@v1"], token: "hf_hunter2" },
    });
    expect(JSON.stringify(others)).not.toContain("hf_hunter2");
  });

  test("reports an unknown secret, and contains nothing that an older agent could start", async ({
    expect,
  }) => {
    const endpointId = await endpointWith({ env: '[{ key: "TOKEN", value: "x{{ SECRET_ABSENT }}" }]' });
    const agent = await ScriptedAgent.join(api);
    const assignment = await assigned(agent, endpointId);
    expect(assignment.problem).toMatch(/'ABSENT'.*\bTOKEN\b.*'t-[0-9a-f]{8}'/);
    expect(assignment).toMatchObject({ dockerArgs: "", env: {}, registryAuth: null });
    // What the Docker runtime demands of an image name.
    expect(assignment.imageName).not.toMatch(/^[A-Za-z0-9][A-Za-z0-9_.:@/-]*$/);

    await createSecret("ABSENT", "here now");
    const later = await assigned(agent, endpointId);
    expect(later).toMatchObject({ workerId: assignment.workerId, env: { TOKEN: "xhere now" } });
    expect(later.problem).toBeUndefined();
  });

  test("is sent again at once when a secret changes", async ({ expect }) => {
    const secretId = await createSecret("TOKEN", "old");
    const endpointId = await endpointWith({ env: '[{ key: "TOKEN", value: "{{ SECRET_TOKEN }}" }]' });
    const agent = await ScriptedAgent.join(api);
    await assigned(agent, endpointId);
    const { revision } = await agent.sync();
    // Held for 50 s if nobody rings.
    const held = agent.sync({ appliedRevision: revision, holdMs: 50_000 });
    await graphql(`mutation { secretValueUpdate(input: { id: "${secretId}", value: "new" }) { id } }`);
    const [renewed] = (await held).assignments;
    expect(renewed?.env).toEqual({ TOKEN: "new" });

    const nextCall = agent.sync({ appliedRevision: (await agent.sync()).revision, holdMs: 50_000 });
    await graphql(`mutation { secretDelete(id: "${secretId}") }`);
    expect((await nextCall).assignments[0]?.problem).toContain("'TOKEN'");
  });

  test("reports a secret whose row was copied from another place or changed", async ({ expect }) => {
    const secretId = await createSecret("TOKEN", "hunter2");
    const otherId = await createSecret("OTHER", "theirs");
    const other = await db.select().from(secret).where(eq(secret.id, otherId)).get();
    await db
      .update(secret)
      .set({ sealedValue: other?.sealedValue ?? "" })
      .where(eq(secret.id, secretId));
    const endpointId = await endpointWith({
      env: "[]",
      endpointEnv: '[{ key: "TOKEN", value: "{{ SECRET_TOKEN }}" }]',
    });
    const { problem } = await assigned(await ScriptedAgent.join(api), endpointId);
    expect(problem).toMatch(/\bTOKEN\b.*'the endpoint'/);
  });

  test("reports a secret whose key is missing, with the id of the key", async ({ expect }) => {
    const secretId = await createSecret("TOKEN", "hunter2");
    await db.update(secret).set({ sealedValue: "v1:lost:AAAA:AAAA" }).where(eq(secret.id, secretId));
    const endpointId = await endpointWith({ env: '[{ key: "TOKEN", value: "{{ SECRET_TOKEN }}" }]' });
    const { problem } = await assigned(await ScriptedAgent.join(api), endpointId);
    expect(problem).toMatch(/'lost'.*ENCRYPTION_KEYS/);
  });

  test("carries the registry login that its template names, or reports that it no longer exists", async ({
    expect,
  }) => {
    const { saveRegistryAuth } = await graphql<{ saveRegistryAuth: { id: string } }>(
      'mutation { saveRegistryAuth(input: { name: "team", username: "ada", password: "hunter2" }) { id } }',
    );
    const endpointId = await endpointWith({
      env: "[]",
      more: `, containerRegistryAuthId: "${saveRegistryAuth.id}"`,
    });
    const agent = await ScriptedAgent.join(api);
    expect((await assigned(agent, endpointId)).registryAuth).toEqual({
      name: "team",
      username: "ada",
      password: "hunter2",
    });
    await db.delete(registryAuth).where(eq(registryAuth.id, saveRegistryAuth.id));
    expect((await assigned(agent, endpointId)).problem).toMatch(
      new RegExp(`'${saveRegistryAuth.id}'.*'t-.*'`),
    );
  });

  test("may refer to more secrets than one query of the database takes parameters", async ({ expect }) => {
    const names = Array.from({ length: 120 }, (_, index) => `S${index}`);
    await createSecret("S7", "seven");
    const references = names.map((name) => `{{ SECRET_${name} }}`).join(" ");
    const endpointId = await endpointWith({ env: `[{ key: "ALL", value: "${references}" }]` });
    expect((await assigned(await ScriptedAgent.join(api), endpointId)).problem).toContain("'S0'");
  });
});

test("a waiting job shows why its worker is not started, and health counts the worker", async ({
  expect,
}) => {
  const endpointId = await endpointWith({ env: '[{ key: "TOKEN", value: "{{ SECRET_ABSENT }}" }]' });
  const agent = await ScriptedAgent.join(api);
  const { workerId, revision, problem } = await assigned(agent, endpointId);
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  const detail = problem ?? "";
  await agent.sync({ workers: [{ workerId, endpointId, revision, state: "unhealthy", detail }] });
  await until(async () => {
    const status = await call("GET", `/v2/${endpointId}/status/${String(body["id"])}`);
    const detail = expect.stringMatching(/'ABSENT'.*\bTOKEN\b/);
    expect(status.body["queue"]).toMatchObject({ reason: "worker_crash_looping", detail });
    return true;
  }, "the job shows why its worker is not started");
  const health = await call("GET", `/v2/${endpointId}/health`);
  expect(health.body["workers"]).toMatchObject({ unhealthy: 1 });
});

describe("what would not fit a process, or an answer", () => {
  const value = "s".repeat(60_000);

  test("is not filled in, however short the template is", async ({ expect }) => {
    await createSecret("LONG", value);
    const often = (times: number) => `[{ key: "A", value: "${"{{ SECRET_LONG }}".repeat(times)}" }]`;
    const agent = await ScriptedAgent.join(api);
    const fits = await assigned(agent, await endpointWith({ env: often(30) }));
    expect(fits.env["A"]).toHaveLength(30 * value.length);
    const tooLong = await assigned(agent, await endpointWith({ env: often(34) }));
    expect(tooLong).toMatchObject({ env: {}, problem: expect.stringContaining("2040001") });
  });

  test("waits where the workers of a host are too many for one answer", async ({ expect }) => {
    await createSecret("LONG", value);
    const endpointId = await endpointWith({
      env: `[{ key: "A", value: "${"{{ SECRET_LONG }}".repeat(30)}" }]`,
    });
    const { myself } = await graphql<{ myself: { id: string } }>("{ myself { id } }");
    const workers = Array.from({ length: 100 }, (_, index) => ({
      workerId: `w${index}`,
      endpointId,
      version: 1,
    }));
    const assignments = await resolveAssignments(
      env,
      myself.id,
      workers.map((worker) => ({ ...worker, gpuIndexes: [] })),
      "http://edge",
    );
    expect(assignments.map(({ workerId }) => workerId)).toEqual(workers.map(({ workerId }) => workerId));
    expect(assignments.filter(({ problem }) => problem === undefined)).toHaveLength(8); // of 1.86 million characters each
    expect(JSON.stringify(assignments).length).toBeLessThan(ANSWER_ASSIGNMENTS_MAX_CHARACTERS);
  });
});
