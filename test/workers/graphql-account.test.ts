import { test } from "vitest";
import { codeOf, freshClient, post } from "./graphql-client.ts";
import { issueAt } from "./message-facts.ts";

const root = async (query: string) =>
  await post("/?api_key=test-root-key-of-more-than-32-characters", JSON.stringify({ query }));

test("an account shows what clients ask of it", async ({ expect }) => {
  const client = await freshClient();
  const { data } =
    await client.send(`{ myself { id authId email pubKey clientBalance currentSpendPerHr spendLimit
    notifyPodsStale notifyPodsGeneral notifyLowBalance } }`);
  expect(data.myself).toEqual({
    id: client.accountId,
    authId: client.accountId,
    email: null,
    pubKey: null,
    clientBalance: null,
    currentSpendPerHr: null,
    spendLimit: null,
    notifyPodsStale: false,
    notifyPodsGeneral: false,
    notifyLowBalance: false,
  });
});

test("public keys are kept as they were sent", async ({ expect }) => {
  const client = await freshClient();
  // As the Python client builds it, with a line break written out.
  const set =
    await client.send(`mutation { updateUserSettings(input: { pubKey: "ssh-ed25519 A a\\n\\nssh-rsa B b" })
    { id pubKey } }`);
  expect(set.data.updateUserSettings).toEqual({
    id: client.accountId,
    pubKey: "ssh-ed25519 A a\n\nssh-rsa B b",
  });
  const send = async (input: string) =>
    (await client.send(`mutation { updateUserSettings(input: ${input}) { pubKey } }`)).data
      .updateUserSettings;
  expect(await send("{}")).toEqual({ pubKey: "ssh-ed25519 A a\n\nssh-rsa B b" });
  expect(await send('{ pubKey: "" }')).toEqual({ pubKey: null });

  const large = await client.send(
    "mutation ($pubKey: String) { updateUserSettings(input: { pubKey: $pubKey }) { id } }",
    { pubKey: "x".repeat(65_537) },
  );
  expect(large.errors[0].message).toMatch(issueAt("pubKey", 65_536));
});

test("the operator makes accounts and lists them", async ({ expect }) => {
  const { data } = await root(
    'mutation { accountCreate(input: { name: "lab", email: "a@b.example" }) { account { id name email createdAt } apiKey } }',
  );
  const { account, apiKey } = data.accountCreate;
  expect(account).toMatchObject({ name: "lab", email: "a@b.example" });
  expect(apiKey).toMatch(/^er_[0-9a-f]{72}$/);

  const query = JSON.stringify({
    query: "{ myself { id email apiKeys { name level isCurrent } auditLog { id } } }",
  });
  const answer = await post("/", query, { authorization: `Bearer ${apiKey}` });
  expect(answer.data.myself).toEqual({
    id: account.id,
    email: "a@b.example",
    apiKeys: [{ name: "first", level: "ALL", isCurrent: true }],
    auditLog: [],
  });
  const listed = await root("{ accounts { id name } }");
  expect(listed.data.accounts).toContainEqual({ id: account.id, name: "lab" });
  expect(JSON.stringify(listed.body)).not.toContain(apiKey);
});

test("what is wrong with a new account is named", async ({ expect }) => {
  for (const [input, path] of [
    ["{}", "name"],
    ['{ name: " " }', "name"],
    ['{ name: "a", email: "nonsense" }', "email"],
  ] as const) {
    const answer = await root(`mutation { accountCreate(input: ${input}) { apiKey } }`);
    expect(codeOf(answer)).toBe("INVALID_INPUT");
    expect(answer.errors[0].message).toMatch(issueAt(path));
  }
});

test("accounts are the operator's alone, also within the operator's account", async ({ expect }) => {
  const made = await root('mutation { createApiKey(input: { name: "all", level: ALL }) { token } }');
  const client = await freshClient();
  for (const key of [client.key, made.data.createApiKey.token]) {
    for (const query of [
      "{ accounts { id } }",
      'mutation { accountCreate(input: { name: "a" }) { apiKey } }',
    ]) {
      const answer = await post(`/?api_key=${key}`, JSON.stringify({ query }));
      expect([answer.status, codeOf(answer)]).toEqual([401, "INSUFFICIENT_PERMISSION"]);
      expect(answer.errors[0].message).toContain("ROOT_API_KEY");
    }
  }
});
