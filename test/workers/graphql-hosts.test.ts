import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import { hashKey } from "../../src/auth/digest.ts";
import { openDatabase } from "../../src/db/database.ts";
import { redeemJoinToken } from "../../src/db/credentials/join-tokens.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { codeOf, freshClient, post } from "./graphql-client.ts";
import { issueAt } from "./message-facts.ts";

const api = new EdgeClient();
const { graphql, signInAsNewAccount } = api;

const HOUR_MS = 3_600_000;

test("a join token opens its account for an hour, once", async ({ expect }) => {
  const client = await freshClient();
  const before = Date.now();
  const { data, errors } = await client.send("mutation { joinTokenCreate { token expiresAt } }");

  expect(errors).toBeUndefined();
  const { token, expiresAt } = data.joinTokenCreate;
  expect(token).toMatch(/^erj_[0-9a-f]{72}$/);
  expect(Date.parse(expiresAt)).toBeGreaterThanOrEqual(before + HOUR_MS);
  expect(Date.parse(expiresAt)).toBeLessThanOrEqual(Date.now() + HOUR_MS);

  const db = openDatabase(env.DB);
  const hash = await hashKey(token);
  expect(await redeemJoinToken(db, hash, Date.now())).toEqual({
    accountId: client.accountId,
    apiKeyId: expect.any(String),
  });
  expect(await redeemJoinToken(db, hash, Date.now())).toBeUndefined();
});

test("its name and life can be chosen, within bounds", async ({ expect }) => {
  const client = await freshClient();
  const create = async (fields: string) =>
    await client.send(`mutation { joinTokenCreate(input: { ${fields} }) { expiresAt } }`);

  const { data } = await create('name: "rack 3", expiresInSeconds: 60');
  expect(Date.parse(data.joinTokenCreate.expiresAt)).toBeLessThanOrEqual(Date.now() + 60_000);
  for (const seconds of [0, 59, 604_801]) {
    const answer = await create(`expiresInSeconds: ${seconds}`);
    expect(codeOf(answer)).toBe("INVALID_INPUT");
    expect(answer.errors[0].message).toMatch(issueAt("expiresInSeconds", 60, 604_800));
  }
});

test("a join token opens no API", async ({ expect }) => {
  const client = await freshClient();
  const { data } = await client.send("mutation { joinTokenCreate { token } }");
  const answer = await post(`/?api_key=${data.joinTokenCreate.token}`, '{"query":"{ myself { id } }"}');
  expect(answer.status).toBe(401);
});

describe("telemetry of a host", () => {
  const TELEMETRY = {
    ago: 1_000,
    cpuPercent: 12.5,
    memoryUsedMb: 1_000,
    memoryTotalMb: 4_000,
    diskUsedMb: null,
    diskTotalMb: null,
    networkReceivedBytesPerS: 10,
    networkSentBytesPerS: 20,
    gpus: [
      {
        index: 0,
        utilizationPercent: null,
        memoryUsedMb: 5,
        memoryTotalMb: 10,
        temperatureC: 40,
        powerW: 90.5,
      },
    ],
  };
  const DOCUMENT = `{ myself { hosts { id telemetry { at cpuPercent diskUsedMb networkSentBytesPerS
    gpus { index utilizationPercent memoryUsedMb temperatureC powerW } } } } }`;

  test("is the latest report of its agent, without a write", async ({ expect }) => {
    await signInAsNewAccount();
    const agent = await ScriptedAgent.join(api);
    await agent.sync();
    expect(await graphql(DOCUMENT)).toMatchObject({ myself: { hosts: [{ telemetry: null }] } });
    await agent.sync({ telemetry: TELEMETRY });
    expect(await graphql(DOCUMENT)).toMatchObject({
      myself: {
        hosts: [
          {
            telemetry: {
              at: expect.stringMatching(/^2/),
              cpuPercent: 12.5,
              diskUsedMb: null,
              networkSentBytesPerS: 20,
              gpus: [{ index: 0, utilizationPercent: null, memoryUsedMb: 5, temperatureC: 40, powerW: 90.5 }],
            },
          },
        ],
      },
    });
  });

  test("that makes no sense is left out, and the sync counts", async ({ expect }) => {
    await signInAsNewAccount();
    const agent = await ScriptedAgent.join(api);
    await agent.sync({ telemetry: { ...TELEMETRY, cpuPercent: "much" } as never });
    expect(await graphql(DOCUMENT)).toMatchObject({ myself: { hosts: [{ telemetry: null }] } });
  });
});

describe("models of a host", () => {
  const DOCUMENT = "{ myself { hosts { models { id commit sizeBytes } } } }";
  const model = { id: "org/name", commit: "a".repeat(40), sizeBytes: 16_000_000_000 };

  test("are those that its agent has reported last", async ({ expect }) => {
    await signInAsNewAccount();
    const agent = await ScriptedAgent.join(api);
    await agent.sync();
    expect(await graphql(DOCUMENT)).toMatchObject({ myself: { hosts: [{ models: null }] } });
    await agent.sync({ models: [model, { ...model, id: "../.." }, { ...model, commit: "main" }] });
    expect(await graphql(DOCUMENT)).toEqual({ myself: { hosts: [{ models: [model] }] } });
    await agent.sync();
    expect(await graphql(DOCUMENT)).toEqual({ myself: { hosts: [{ models: [model] }] } });
    await agent.sync({ models: [] });
    expect(await graphql(DOCUMENT)).toEqual({ myself: { hosts: [{ models: [] }] } });
  });

  test("are bounded, and too many do not fail the sync", async ({ expect }) => {
    await signInAsNewAccount();
    const agent = await ScriptedAgent.join(api);
    await agent.sync({
      models: Array.from({ length: 65 }, (_, index) => ({ ...model, id: `org/${index}` })),
    });
    expect(await graphql(DOCUMENT)).toEqual({ myself: { hosts: [{ models: null }] } });
  });
});
