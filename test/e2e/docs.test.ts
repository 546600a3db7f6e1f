/** The pages of the documentation in a real browser, on a whole Edgerun. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { findBrowser, launchBrowser, watchPage } from "../support/browser.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { newAccount } from "../support/shared-edge.ts";

const executablePath = findBrowser();

/** Makes an endpoint over REST; answers its id. */
async function createEndpoint({ baseUrl, apiKey }: EdgeAccess): Promise<string> {
  const post = async (path: string, body: object): Promise<string> => {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const response = await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    return ((await response.json()) as { id: string }).id;
  };
  const template = { name: "docs", imageName: "worker:1", isServerless: true };
  return await post("/v1/endpoints", { templateId: await post("/v1/templates", template) });
}

describe.skipIf(executablePath === undefined)("the pages of the documentation", () => {
  let edge: EdgeAccess;
  let browser: Browser;

  beforeAll(async () => {
    edge = await newAccount("docs");
    browser = await launchBrowser(executablePath ?? "");
  });
  afterAll(async () => {
    await browser?.close();
  });

  async function openedPage(path: string) {
    const page = await browser.newPage({ viewport: { width: 1360, height: 1400 } });
    const notes = watchPage(page);
    await page.goto(edge.baseUrl + path);
    return { page, notes };
  }

  async function authorize(page: Page, key: string): Promise<void> {
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Authorize", exact: true }).click();
    await page.getByText("Calls of this page carry the key").waitFor();
  }

  /** Opens an operation, sends its request, and gives the status and the body of the answer. */
  async function execute(operation: Locator, parameters: Record<string, string> = {}) {
    await operation.locator(".opblock-summary-control").click();
    for (const [name, value] of Object.entries(parameters)) {
      await operation.locator(`tr[data-param-name="${name}"] input`).fill(value);
    }
    await operation.getByRole("button", { name: "Execute" }).click();
    const answer = operation.locator(".live-responses-table .response").first();
    await answer.waitFor();
    const body = await answer.locator(".response-col_description pre code").first().innerText();
    const status = await answer.locator(".response-col_status").first().innerText();
    return { status: Number.parseInt(status, 10), body: JSON.parse(body) as unknown };
  }

  test("operations are tried without a key, which is shown as refused, and with it; nothing comes from elsewhere", async ({
    expect,
  }) => {
    const { page, notes } = await openedPage("/docs");
    const refused = await execute(page.locator("#operations-Endpoints-listEndpoints"));
    expect(refused).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(notes.errors.splice(0)).toEqual([expect.stringContaining("401")]);
    await authorize(page, edge.apiKey);

    const endpointId = await createEndpoint(edge);
    const templates = await execute(page.locator("#operations-Templates-listTemplates"));
    expect(templates).toMatchObject({ status: 200, body: [{ name: "docs" }] });

    await page.locator("#rest-v2-operations > summary").click();
    const endpoint = page.locator("#operations-REST_v2_endpoints-getServerless");
    expect(await execute(endpoint, { id: endpointId })).toMatchObject({
      status: 200,
      body: { id: endpointId },
    });

    const job = await execute(page.locator("#operations-Jobs-runJob"), { endpointId });
    expect(job).toMatchObject({ status: 200, body: { status: "IN_QUEUE", id: expect.any(String) } });

    expect(notes).toEqual({ errors: [], hosts: new Set([new URL(edge.baseUrl).host]) });
    await page.close();
  });

  test("a browser that opens the address of GraphQL is shown its schema", async ({ expect }) => {
    const { page, notes } = await openedPage("/graphql");
    expect(page.url()).toBe(`${edge.baseUrl}/docs/graphql`);
    const part = page.locator("#Mutation\\.saveEndpoint");
    expect(await part.innerText()).toContain("input: EndpointInput");
    await page.getByLabel("Search").fill("joinTokenCreate");
    expect(await part.isHidden()).toBe(true);
    expect(await page.locator("#Mutation\\.joinTokenCreate").isVisible()).toBe(true);
    await page.getByLabel("Search").fill("");
    await part.getByRole("link", { name: "EndpointInput" }).click();
    expect(page.url()).toMatch(/#EndpointInput$/);
    expect(notes).toEqual({ errors: [], hosts: new Set([new URL(edge.baseUrl).host]) });
    await page.close();
  });

  test("every operation is in the page, where a browser's search finds it; those of agents are shown when they are opened", async ({
    expect,
  }) => {
    type Operation = { readonly operationId: string; readonly tags: readonly string[] };
    const response = await fetch(`${edge.baseUrl}/openapi.json`);
    const { paths } = (await response.json()) as { paths: Record<string, Record<string, Operation>> };
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    const ids = operations.filter(({ tags }) => !tags.includes("agent")).map((found) => found.operationId);
    const { page, notes } = await openedPage("/docs");
    await page.locator("#operations-Jobs-runJob").waitFor();
    await page.locator("#operations-This_document-getDocumentOfRestV2").waitFor({ state: "attached" });
    const shown = await page.locator(".opblock").evaluateAll((blocks) => blocks.map(({ id }) => id));
    expect(new Set(shown.map((id) => id.split("-").at(-1)))).toEqual(new Set(ids));

    expect(await page.locator("[id^=operations-agent]").count()).toBe(0);
    await page.getByText("For agents of hosts alone").click();
    await page.locator("#operations-agent-joinHost").waitFor();
    expect(notes.errors).toEqual([]);
    await page.close();
  });

  test.for(["/", "/docs", "/docs/graphql", "/flash/login?request=x"])(
    "%s fits a phone and supports dark mode",
    async (path, { expect }) => {
      const page = await browser.newPage({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
      const { errors } = watchPage(page);
      await page.goto(edge.baseUrl + path);
      if (path === "/docs") await page.locator("#operations-Jobs-runJob").waitFor();
      const [width, colour] = await page.evaluate<[number, string]>(
        "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]",
      );
      expect(width).toBe(390);
      const [red = 255] = (colour.match(/\d+/g) ?? []).map(Number);
      expect(red).toBeLessThan(64);
      expect(errors.filter((error) => !error.includes("404"))).toEqual([]);
      await page.close();
    },
  );

  test("the first page has commands with the address under which it was opened", async ({ expect }) => {
    const { page, notes } = await openedPage("/");
    await page.getByText(`npm install -g ${edge.baseUrl}/packages/edgerun.tgz`).waitFor();
    expect(notes).toEqual({ errors: [], hosts: new Set([new URL(edge.baseUrl).host]) });
    await page.close();
  });
});
