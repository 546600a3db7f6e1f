/** The API explorer of the local server, in a real browser. */
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { findBrowser, launchBrowser, watchPage } from "../support/browser.ts";
import { parameter, queueEndpoint, routedEndpoint, serve } from "./support/scripted-app.ts";

const executablePath = findBrowser();

const greet = queueEndpoint("greet", [
  parameter("name", { annotation: "str" }),
  parameter("times", { annotation: "int", isRequired: false, default: 1 }),
]);
const api = routedEndpoint("api", [
  {
    route: "POST /process",
    parameters: [parameter("text", { annotation: "str" }), parameter("size", { annotation: "int" })],
    description: "Counts the letters of a text.",
  },
  { route: "GET /things/{id}", parameters: [parameter("id", { annotation: "int" }), parameter("q")] },
]);

describe.skipIf(executablePath === undefined)("the API explorer", () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser(executablePath ?? "");
  });
  afterAll(async () => {
    await browser?.close();
  });

  /** Sends the request that an operation shows, as it stands; gives the status and the body of the answer. */
  async function execute(operation: Locator): Promise<{ readonly status: number; readonly body: unknown }> {
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Execute" }).click();
    const answer = operation.locator(".live-responses-table .response").first();
    await answer.waitFor();
    const body = await answer.locator(".response-col_description pre code").first().innerText();
    const status = await answer.locator(".response-col_status").first().innerText();
    return { status: Number.parseInt(status, 10), body: JSON.parse(body) as unknown };
  }

  test("calls a queue and routes with its example bodies, without other hosts", async ({ expect }) => {
    const endpoints = [greet, api];
    await using served = await serve(() => endpoints, {
      queue: (_, { job }) => Response.json({ id: "j-1", status: "COMPLETED", output: job }),
    });
    const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
    page.setDefaultTimeout(100_000);
    const notes = watchPage(page);
    await page.goto(`${served.server.url}/docs`);
    await page.getByText("What greet does.").waitFor();

    const job = await execute(page.locator("#operations-greet-greet_runsync"));
    expect(job).toEqual({
      status: 200,
      body: { id: "j-1", status: "COMPLETED", output: { input: expect.any(String), options: "{}" } },
    });
    const posted = await execute(page.locator("#operations-api-api_post__process"));
    expect(posted).toMatchObject({ status: 200, body: { path: "/process" } });
    const { body } = posted.body as { readonly body: string };
    expect(JSON.parse(body)).toEqual({ text: "hello", size: 1 });
    const got = await execute(page.locator("#operations-api-api_get__things_id_"));
    expect(got).toMatchObject({ status: 200, body: { method: "GET", path: "/things/1" } });

    endpoints.push(queueEndpoint("late", []));
    await page.evaluate('dispatchEvent(new Event("focus"))');
    await page.getByText("What late does.").waitFor();

    expect(notes).toEqual({ errors: [], hosts: new Set([new URL(served.server.url).host]) });
    await page.close();
  });
});
