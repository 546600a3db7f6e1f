/** The page on which a person lets the flash command in, in a real browser, on a whole Edgerun. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { findBrowser, launchBrowser, watchPage } from "../support/browser.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { newAccount } from "../support/shared-edge.ts";

const executablePath = findBrowser();
const CLIENT = "flash/1.0 <b>on</b> laptop";

describe.skipIf(executablePath === undefined)("the login page", () => {
  let edge: EdgeAccess;
  let browser: Browser;

  beforeAll(async () => {
    edge = await newAccount("flash login");
    browser = await launchBrowser(executablePath ?? "");
  });
  afterAll(async () => {
    await browser?.close();
  });

  async function ask(query: string, key?: string): Promise<Record<string, Record<string, string | null>>> {
    const authorization = key === undefined ? {} : { Authorization: `Bearer ${key}` };
    const response = await fetch(`${edge.baseUrl}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "User-Agent": CLIENT, ...authorization },
      body: JSON.stringify({ query }),
    });
    return ((await response.json()) as { data: Record<string, Record<string, string | null>> }).data;
  }

  /** Asks to be let in, as the command does, and opens the page that it prints. */
  async function openedLogin() {
    const { createFlashAuthRequest } = await ask("mutation { createFlashAuthRequest { id } }");
    const id = createFlashAuthRequest?.["id"] ?? "";
    const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
    const notes = watchPage(page);
    await page.goto(`${edge.baseUrl}/flash/login?request=${id}`);
    await page.getByText(`${id.slice(0, 4)}-${id.slice(4, 8)}`, { exact: true }).waitFor();
    return { id, page, notes };
  }

  const fetchedBy = async (id: string) =>
    (await ask(`{ flashAuthRequestStatus(flashAuthRequestId: "${id}") { status apiKey } }`))[
      "flashAuthRequestStatus"
    ];

  test("shows the requesting machine, takes a key, and the command gets its own key", async ({ expect }) => {
    const { id, page, notes } = await openedLogin();
    await page.getByText(CLIENT, { exact: true }).waitFor(); // as text, not as the tags in it
    const [hours = "", minutes = ""] = (await page.locator("#expires").innerText()).split(":");
    expect([Number(hours), Number(minutes)].every(Number.isInteger)).toBe(true);

    await page.getByLabel("Your API key").fill(edge.apiKey);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("This login is approved. You can close this page.").waitFor();
    expect(await page.getByLabel("Your API key").inputValue()).toBe("");

    // Who looks again, or comes back, does not take the key away.
    await page.reload();
    await page.getByText("This login is approved. You can close this page.").waitFor();
    const fetched = await fetchedBy(id);
    expect(fetched?.["status"]).toBe("APPROVED");
    expect(fetched?.["apiKey"]).not.toBe(edge.apiKey);
    const accountOf = async (key: string) => (await ask("{ myself { id } }", key))["myself"]?.["id"];
    const accountId = await accountOf(edge.apiKey);
    expect(accountId).toEqual(expect.any(String));
    expect(await accountOf(fetched?.["apiKey"] ?? "")).toBe(accountId);

    await page.reload();
    await page.getByText("the command line has its key").waitFor();
    expect(notes).toEqual({ errors: [], hosts: new Set([new URL(edge.baseUrl).host]) });
    await page.close();
  });

  test("denies", async ({ expect }) => {
    const { id, page } = await openedLogin();
    await page.getByLabel("Your API key").fill(edge.apiKey);
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText("This login was denied. Nobody got a key.").waitFor();
    expect(await fetchedBy(id)).toEqual({ status: "DENIED", apiKey: null });
    await page.close();
  });

  test("reports what is wrong with a key, and accepts another one", async ({ expect }) => {
    const { id, page } = await openedLogin();
    await page.getByLabel("Your API key").fill("er_wrong");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("the API key is wrong").waitFor();
    expect(await fetchedBy(id)).toEqual({ status: "PENDING", apiKey: null });
    await page.getByLabel("Your API key").fill(edge.apiKey);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("This login is approved.").waitFor();
    await page.close();
  });

  test("reports an unknown login", async () => {
    const page = await browser.newPage();
    await page.goto(`${edge.baseUrl}/flash/login?request=NEVER`);
    await page.getByText("there is no such login").waitFor();
    await page.goto(`${edge.baseUrl}/flash/login`);
    await page.getByText("This address names no login").waitFor();
    await page.close();
  });
});
