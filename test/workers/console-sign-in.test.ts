import { env, exports } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, test } from "vitest";
import { openDatabase } from "../../src/db/database.ts";
import { apiKey, signIn } from "../../src/db/schema.ts";
import { CREDENTIAL_CACHE_MS } from "../../src/domain/accounts/permissions.ts";
import { maintain } from "../../src/maintenance/tasks.ts";
import { SIGN_IN_LINK_TTL_MS, SIGN_IN_TTL_MS } from "../../src/management/accounts/sign-ins.ts";
import { freshAccount } from "./accounts.ts";
import { ROOT_API_KEY } from "./edge-client.ts";
import { keyWith } from "./key-client.ts";
import { passTime } from "./object.ts";

const OF_CONSOLE = { "X-Edgerun-Console": "1", "User-Agent": "Browser/1" };
const db = openDatabase(env.DB);

async function post(path: string, body: unknown, headers: Record<string, string> = OF_CONSOLE) {
  return await exports.default.fetch(`http://edge${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
}

/** A browser with a cookie jar of one cookie. */
class Browser {
  #cookie = "";

  async signIn(given: { readonly key: string } | { readonly link: string }): Promise<number> {
    const response = await post("/console/sign-in", given);
    this.#cookie = response.headers.get("Set-Cookie")?.split(";")[0] ?? "";
    await response.text();
    return response.status;
  }

  get cookie(): string {
    return this.#cookie;
  }

  /** Asks as a page of the console does. */
  async ask(query: string, headers: Record<string, string> = OF_CONSOLE) {
    const response = await post("/graphql", { query }, { ...headers, Cookie: this.#cookie });
    const body: any = await response.json(); // oxlint-disable-line typescript/no-explicit-any -- asserted, not typed
    return { status: response.status, ...body };
  }

  async signOut(): Promise<Response> {
    return await post("/console/sign-out", {}, { ...OF_CONSOLE, Cookie: this.#cookie });
  }
}

async function signedIn() {
  const account = await freshAccount();
  const browser = new Browser();
  const status = await browser.signIn({ key: account.key });
  if (status !== 200) throw new Error(`signing in was answered with ${status}`);
  return { ...account, browser };
}

async function linkOf(browser: Browser): Promise<string> {
  const { data } = await browser.ask("mutation { createSignInLink { url } }");
  return new URL(data.createSignInLink.url).hash.slice(1);
}

describe("signing in", () => {
  test("a key gives a cookie that no script reads, and the page has the rights of the key", async ({
    expect,
  }) => {
    const { key, accountId } = await freshAccount();
    const response = await post("/console/sign-in", { key });
    expect(response.headers.get("Set-Cookie")).toMatch(
      /^edgerun-sign-in=ers_[0-9a-f]{72}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(await response.text()).not.toContain("ers_");

    const browser = new Browser();
    await browser.signIn({ key });
    const { data } = await browser.ask(
      "{ myself { id } signIns { client isLink isCurrent apiKeyId } apiKeys { id } }",
    );
    expect(data.myself.id).toBe(accountId);
    const apiKeyId = data.apiKeys[0].id;
    expect(data.signIns).toEqual([
      { client: "Browser/1", isLink: false, isCurrent: true, apiKeyId },
      { client: "Browser/1", isLink: false, isCurrent: false, apiKeyId },
    ]);
  });

  test("neither the token nor the key is stored", async ({ expect }) => {
    const { accountId, key, browser } = await signedIn();
    const rows = JSON.stringify(await db.select().from(signIn).where(eq(signIn.accountId, accountId)));
    expect(rows).not.toContain(browser.cookie.split("=")[1]);
    expect(rows).not.toContain(key);
  });

  test("a key may do in the console what it may do elsewhere, and no more", async ({ expect }) => {
    const { accountId } = await freshAccount();
    const reader = new Browser();
    await reader.signIn({ key: await keyWith(accountId, { graphql: "read", endpoints: "none" }) });
    expect((await reader.ask("{ myself { id } }")).data.myself.id).toBe(accountId);
    const { errors } = await reader.ask("mutation { createSignInLink { url } }");
    expect(errors[0].extensions.code).toBe("INSUFFICIENT_PERMISSION");
    expect(
      await new Browser().signIn({ key: await keyWith(accountId, { graphql: "none", endpoints: "write" }) }),
    ).toBe(401);
  });

  test.for([
    ["a wrong key", { key: `er_${"0".repeat(64)}` }],
    ["a token of a sign-in", { key: `ers_${"0".repeat(64)}` }],
    ["a wrong link", { link: `erk_${"0".repeat(64)}` }],
    ["a key as a link", { link: ROOT_API_KEY }],
  ] as const)("%s gives no cookie", async ([, given], { expect }) => {
    const response = await post("/console/sign-in", given);
    expect([response.status, response.headers.get("Set-Cookie")]).toEqual([401, null]);
    await response.text();
  });

  test("the token of a cookie signs in nobody else", async ({ expect }) => {
    const { browser } = await signedIn();
    expect(await new Browser().signIn({ key: browser.cookie.split("=")[1] ?? "" })).toBe(401);
  });
});

describe("links", () => {
  test("one signs in one browser, with the rights of the key that made it", async ({ expect }) => {
    const { browser, accountId } = await signedIn();
    const link = await linkOf(browser);
    expect((await browser.ask("{ signIns { isLink client } }")).data.signIns[0]).toEqual({
      isLink: true,
      client: "",
    });
    const [one, two] = [new Browser(), new Browser()];
    const statuses = await Promise.all([one.signIn({ link }), two.signIn({ link })]);
    expect(statuses.toSorted()).toEqual([200, 401]);
    const signed = statuses[0] === 200 ? one : two;
    expect((await signed.ask("{ myself { id } }")).data.myself.id).toBe(accountId);
    expect(await new Browser().signIn({ link })).toBe(401);
  });

  test("the code of a link is no key", async ({ expect }) => {
    const { browser } = await signedIn();
    const headers = { Authorization: `Bearer ${await linkOf(browser)}` };
    const response = await post("/graphql", { query: "{ myself { id } }" }, headers);
    expect(response.status).toBe(401);
    await response.text();
  });

  test("one that is a quarter of an hour old signs in nobody", async ({ expect }) => {
    const { browser } = await signedIn();
    const link = await linkOf(browser);
    passTime(SIGN_IN_LINK_TTL_MS + 1);
    expect(await new Browser().signIn({ link })).toBe(401);
  });
});

describe("a sign-in ends", () => {
  const isSignedIn = async (browser: Browser) => (await browser.ask("{ myself { id } }")).status === 200;

  test("when its user signs out, also in a copy of its cookie", async ({ expect }) => {
    const { browser } = await signedIn();
    const response = await browser.signOut();
    expect(response.status).toBe(204);
    expect(response.headers.get("Set-Cookie")).toMatch(/^edgerun-sign-in=; Path=\/; Max-Age=0;/);
    expect(await isSignedIn(browser)).toBe(false);
  });

  test("when another one of the account ends it, and with no key of another account", async ({ expect }) => {
    const { browser, key } = await signedIn();
    const [other, stranger] = [new Browser(), (await signedIn()).browser];
    await other.signIn({ key });
    const { data } = await browser.ask("{ signIns { id isCurrent } }");
    const { id } = data.signIns.find((one: { isCurrent: boolean }) => one.isCurrent);
    const end = `mutation { endSignIn(id: "${id}") }`;
    expect((await stranger.ask(end)).errors[0].extensions.code).toBe("SIGN_IN_NOT_FOUND");
    expect(await isSignedIn(browser)).toBe(true);
    expect((await other.ask(end)).errors).toBeUndefined();
    expect(await isSignedIn(browser)).toBe(false);
  });

  test("with its key, once that is revoked", async ({ expect }) => {
    const { browser } = await signedIn();
    const { data } = await browser.ask("{ apiKeys { id } }");
    expect(
      (await browser.ask(`mutation { revokeApiKey(id: "${data.apiKeys[0].id}") }`)).errors,
    ).toBeUndefined();
    expect(await isSignedIn(browser)).toBe(false);
  });

  test("with its key, once that has expired, and narrows with it", async ({ expect }) => {
    const { browser, accountId } = await signedIn();
    await db
      .update(apiKey)
      .set({ expiresAt: Date.now() + 3_600_000 })
      .where(eq(apiKey.accountId, accountId));
    passTime(CREDENTIAL_CACHE_MS + 1);
    expect(await isSignedIn(browser)).toBe(true);
    passTime(3_600_000);
    expect(await isSignedIn(browser)).toBe(false);
  });

  test("by itself after a week, and its row goes", async ({ expect }) => {
    const { browser, accountId } = await signedIn();
    passTime(SIGN_IN_TTL_MS - CREDENTIAL_CACHE_MS);
    expect(await isSignedIn(browser)).toBe(true);
    passTime(CREDENTIAL_CACHE_MS + 1);
    expect(await isSignedIn(browser)).toBe(false);
    await maintain(env, Date.now());
    expect(await db.select().from(signIn).where(eq(signIn.accountId, accountId))).toEqual([]);
  });

  test("when the key of the environment is another one", async ({ expect }) => {
    const browser = new Browser();
    await browser.signIn({ key: ROOT_API_KEY });
    expect(await isSignedIn(browser)).toBe(true);
    passTime(CREDENTIAL_CACHE_MS + 1);
    const { default: edge } = await import("../../src/index.ts");
    const request = new Request("http://edge/graphql", {
      method: "POST",
      headers: { ...OF_CONSOLE, Cookie: browser.cookie },
      body: '{"query":"{ myself { id } }"}',
    });
    const changed = { ...env, ROOT_API_KEY: "another-key-of-more-than-32-characters-" };
    const context = { waitUntil: () => {}, passThroughOnException: () => {} } as unknown as ExecutionContext;
    expect((await edge.fetch(request, changed, context)).status).toBe(401);
  });
});

describe("requests that other pages make the browser send", () => {
  test.for([
    ["without the header of the console", {}],
    ["from another origin", { ...OF_CONSOLE, Origin: "https://evil.example" }],
    ["from another host of the domain", { ...OF_CONSOLE, "Sec-Fetch-Site": "same-site" }],
  ] as const)("%s do nothing", async ([, headers], { expect }) => {
    const { browser, key } = await signedIn();
    expect((await browser.ask("{ myself { id } }", headers)).status).toBe(401);
    for (const path of ["/console/sign-in", "/console/sign-out"]) {
      const response = await post(path, { key }, { ...headers, Cookie: browser.cookie });
      expect([response.status, response.headers.get("Set-Cookie")]).toEqual([400, null]);
      await response.text();
    }
    expect((await browser.ask("{ myself { id } }")).status).toBe(200);
  });
});
