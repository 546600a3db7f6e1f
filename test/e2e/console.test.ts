/** The console in a real browser, as a new user of `npm start` has it. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { findBrowser, launchBrowser, watchPage, type PageNotes } from "../support/browser.ts";
import { freePort } from "../support/free-port.ts";
import { Launch } from "../support/launch.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const WORKER = join(ROOT, "examples/hello/worker.mjs");
const AXE = join(ROOT, "node_modules/axe-core/axe.min.js");
const HOSTILE = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>`;

/** How much of the page lies beside the window. */
const EXCESS = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

const executablePath = findBrowser();

/** The tests follow one user from the link on. */
describe.skipIf(executablePath === undefined)("the console of npm start", () => {
  let directory: string;
  let launch: Launch;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let notes: PageNotes;
  let url: string;
  /** Of the user's own endpoint, and of its first job. */
  let endpoint = "";
  let job = "";

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "edgerun-console-"));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const options = ["--runtime", "process", "--no-example", "--allow-private-webhooks"];
    launch = new Launch({ via: "script", port, stateDirectory: directory, options });
    await launch.settled();
    browser = await launchBrowser(executablePath ?? "");
    context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    page = await context.newPage();
    notes = watchPage(page);
  });
  afterAll(async () => {
    await browser?.close();
    await launch?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const signInLink = () => /Console +(\S+)/.exec(launch.output)?.[1] ?? "";

  async function run(input: object): Promise<void> {
    await page.goto(`${url}${endpoint}/run`);
    await page.getByLabel("Input, as JSON").fill(JSON.stringify(input));
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForURL(/\/jobs\/[\w-]+$/);
  }

  test("the printed link signs in once, and its code leaves the address", async ({ expect }) => {
    await page.goto(signInLink());
    await page.getByRole("heading", { name: "No endpoint yet" }).waitFor();
    expect(page.url()).toBe(`${url}/`);
    expect(await page.evaluate("document.cookie")).toBe("");

    const other = await (await browser.newContext()).newPage();
    await other.goto(signInLink());
    await other.getByText("This link was used already").waitFor();
    await other.goto(`${url}/hosts`);
    await other.waitForURL(`${url}/sign-in?next=%2Fhosts`);
    await other.context().close();
  });

  test("a new endpoint runs a job, whose result, timeline and log lines show", async ({ expect }) => {
    await page.getByRole("link", { name: "New endpoint" }).first().click();
    await page.getByLabel("Name").fill("mine");
    await page.getByLabel("Image").fill("edgerun/process");
    await page.getByLabel("Start command").fill(`node ${WORKER}`);
    await page.getByRole("button", { name: "Create" }).click();
    await page.waitForURL(/\/endpoints\/\w+\/run$/);
    endpoint = new URL(page.url()).pathname.replace(/\/run$/, "");

    await run({ name: "Ada" });
    job = new URL(page.url()).pathname;
    await page.getByText('"greeting": "Hello, Ada!"').waitFor();
    await page.getByRole("list", { name: "Timeline" }).getByText("handler").waitFor();
    await page.getByRole("log").getByText("completed").waitFor();
    expect(await page.getByText("The worker started in").count()).toBe(1);
  });

  test("a handler that fails says why, and its job is run again", async ({ expect }) => {
    await run({ fail: "the model is missing" });
    await page.getByText("the model is missing", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await page.goto(`${url}${endpoint}`);
    await page.getByRole("link", { name: "failed" }).click();
    await page.waitForURL(/\?status=FAILED$/);
    await page.getByRole("table", { name: "Jobs" }).getByText("failed").waitFor();
    expect(await page.getByRole("table", { name: "Jobs" }).getByText("completed").count()).toBe(0);
  });

  test("a job that runs long is cancelled", async () => {
    await run({ seconds: 60 });
    await page.getByText("of 60 seconds").waitFor();
    await page.getByRole("button", { name: "Cancel the job" }).click();
    await page.getByText("cancelled", { exact: true }).first().waitFor();
  });

  test("what users write is text on every page", async ({ expect }) => {
    await run({ name: HOSTILE });
    await page.getByText("Hello, <img src=x").waitFor();
    await run({ fail: HOSTILE });
    await page.getByText("<img src=x").first().waitFor();
    await page.goto(`${url}${endpoint}`);
    await page.getByRole("table", { name: "Jobs" }).waitFor();
    await page.goto(`${url}${endpoint}/logs?search=${encodeURIComponent(HOSTILE)}`);
    await page.getByRole("heading", { name: "No line" }).waitFor();
    expect(await page.title()).toBe("Edgerun");
  });

  test("a host is drained and taken back, and the audit log names what was done", async () => {
    await page.getByRole("link", { name: "Hosts" }).click();
    await page.getByRole("button", { name: "Drain" }).click();
    await page.getByText("drained").waitFor();
    await page.getByRole("button", { name: "Take back into service" }).click();
    await page.getByRole("button", { name: "Drain" }).waitFor();
    await page.getByRole("button", { name: "Add host" }).click();
    await page.getByRole("region", { name: "Install command" }).getByText(url).waitFor();

    await page.keyboard.press("Control+k");
    await page.keyboard.type("audit");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${url}/audit`);
    for (const operation of ["saveEndpoint", "hostUpdate", "follow sign-in link"]) {
      await page.getByRole("table", { name: "Audit log" }).getByText(operation).first().waitFor();
    }
  });

  test("the calls of a webhook are listed with their answers, and made again", async ({ expect }) => {
    const receiver = createServer((request, response) => {
      request.resume();
      response.writeHead(204).end();
    });
    await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
    try {
      const { port } = receiver.address() as AddressInfo;
      const body = { input: {}, webhook: `http://127.0.0.1:${port}/hook` };
      const { id } = await page.evaluate<{ id: string }>(
        `fetch("/v2${endpoint.replace("/endpoints", "")}/runsync", { method: "POST", body: ${JSON.stringify(JSON.stringify(body))},
          headers: { "X-Edgerun-Console": "1", "Content-Type": "application/json" } }).then((reply) => reply.json())`,
      );
      await page.goto(`${url}${endpoint}/jobs/${id}`);
      const calls = page.getByRole("list", { name: "Calls of the webhook" });
      await calls.getByText("204").waitFor();
      await page.getByRole("button", { name: "Send it again" }).click();
      await calls.getByText("204").nth(1).waitFor();
    } finally {
      receiver.close();
    }
    await page.goto(`${url}/webhooks`);
    expect(await page.content()).not.toContain("whsec_");
    await page.getByRole("button", { name: "Show the secret" }).click();
    await page
      .getByRole("region", { name: "Signing secret" })
      .getByText(/^whsec_/)
      .waitFor();
  });

  test("another command makes a new version, whose workers replace the old one", async ({ expect }) => {
    await page.goto(`${url}${endpoint}/settings`);
    await page.getByLabel("Start command").fill(`env FIXED=1 node ${WORKER}`);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.getByText("version 2").waitFor();
    await run({ name: "version 2" });
    await page.getByText('"greeting": "Hello, version 2!"').waitFor();
    await page.goto(`${url}${endpoint}/workers`);
    await page.getByText("All have the newest version.").waitFor();
    expect(await page.getByRole("table", { name: "Workers" }).getByRole("row").count()).toBeGreaterThan(1);

    await page.goto(`${url}${endpoint}/versions`);
    await page.getByText("env FIXED=1").waitFor();
    await page.getByRole("button", { name: "Go back to version 1" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Go back to version 1" }).click();
    await page.getByRole("heading", { name: "Version 3" }).waitFor();
    await page.goto(`${url}${endpoint}/settings`);
    expect(await page.getByLabel("Start command").inputValue()).toBe(`node ${WORKER}`);
  });

  test("secrets and keys are made, and removed only after a question", async ({ expect }) => {
    await page.goto(`${url}/secrets`);
    await page.getByLabel("Name").fill("TOKEN");
    await page.getByLabel("Value").fill("very secret");
    await page.getByRole("button", { name: "Create" }).click();
    const secrets = page.getByRole("table", { name: "Secrets" });
    await secrets.getByText("TOKEN", { exact: true }).waitFor();
    expect(await page.content()).not.toContain("very secret");
    await secrets.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Keep it" }).click();
    await secrets.getByText("TOKEN", { exact: true }).waitFor();
    await secrets.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "No secret yet" }).waitFor();

    await page.goto(`${url}/access`);
    await page.getByLabel("What it is for").fill("ci");
    await page.getByRole("button", { name: "Create" }).click();
    await page
      .getByRole("region", { name: "New API key" })
      .getByText(/^er_[0-9a-f]{72}$/)
      .waitFor();
    const keys = page.getByRole("table", { name: "API keys" });
    await keys.getByText("in force").waitFor();
    await keys.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await keys.getByText("revoked").waitFor();
  });

  test("templates, volumes and registries are made, changed and removed", async ({ expect }) => {
    const confirm = async (name: string) =>
      await page.getByRole("dialog").getByRole("button", { name }).click();
    await page.goto(`${url}/registries`);
    await page.getByLabel("Name", { exact: true }).fill(HOSTILE);
    await page.getByLabel("User name").fill("ada");
    await page.getByLabel("Password").fill("very secret");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("table", { name: "Registries" }).getByText("<img src=x").waitFor();

    await page.goto(`${url}/templates`);
    await page.getByLabel("Name", { exact: true }).fill(HOSTILE);
    await page.getByLabel("Image", { exact: true }).fill("edgerun/process");
    await page.getByLabel("Login of the image's registry").selectOption({ label: HOSTILE });
    await page.getByLabel("Variables").fill("MODE=fast\nURL=http://a?b=c");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("table", { name: "Templates" }).getByRole("link").click();
    await page.waitForURL(/\/templates\/\w+$/);
    expect(await page.getByLabel("Variables").inputValue()).toBe("MODE=fast\nURL=http://a?b=c");
    await page.getByLabel("Disk").fill("20");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();

    await page.goto(`${url}/registries`);
    await page.getByRole("button", { name: "Delete" }).click();
    await confirm("Delete");
    await page.getByRole("dialog").getByText("registry_auth_in_use").waitFor();
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.goto(`${url}/templates`);
    await page.getByText("20 GB").waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await confirm("Delete");
    await page.getByRole("heading", { name: "No template yet" }).waitFor();

    await page.goto(`${url}/volumes`);
    await page.getByLabel("Name", { exact: true }).fill(HOSTILE);
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByLabel(`Size of ${HOSTILE} in GB`).fill("12");
    await page.getByRole("button", { name: "Grow" }).click();
    await page.locator('input[name="size"][min="12"]').waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await confirm("Delete");
    await page.getByRole("heading", { name: "No volume yet" }).waitFor();
    expect(await page.title()).toBe("Edgerun");
  });

  test("a budget limits the account until it is removed", async () => {
    await page.goto(`${url}/settings`);
    await page.getByLabel("Dollars").fill("12.5");
    await page.getByRole("button", { name: "Save the budget" }).click();
    await page.getByText("of $12.50 were spent this month").waitFor();
    await page.getByRole("button", { name: "Remove the budget" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove the budget" }).click();
    await page.getByText("Nothing limits what workers cost.").waitFor();
  });

  test("who is signed in lets the flash command in with one click", async ({ expect }) => {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"query":"mutation { createFlashAuthRequest { id } }"}',
    });
    const { data } = (await response.json()) as { data: { createFlashAuthRequest: { id: string } } };
    await page.goto(`${url}/flash/login?request=${data.createFlashAuthRequest.id}`);
    await page.getByText("You are signed in to the console.").waitFor();
    expect(await page.getByLabel("Your API key").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("This login is approved.").waitFor();
  });

  test("a hidden page asks nothing, and looks again when it is shown", async ({ expect }) => {
    const hidden = await context.newPage();
    await hidden.clock.install();
    let asked = 0;
    hidden.on("request", () => (asked += 1));
    await hidden.goto(url);
    await hidden.getByRole("table", { name: "Endpoints" }).getByText("mine").waitFor();
    await hidden.clock.runFor(60_000);
    expect(asked).toBeGreaterThan(0);

    const show = async (state: "hidden" | "visible") =>
      await hidden.evaluate(`
        Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await show("hidden");
    await hidden.waitForLoadState("networkidle");
    asked = 0;
    await hidden.clock.runFor(300_000);
    expect(asked).toBe(0);
    const again = hidden.waitForRequest(/graphql/);
    await show("visible");
    await again;
    await hidden.close();
  });

  test.for(["light", "dark"] as const)(
    "no page has a serious fault for those who see or hear little, %s",
    async (colorScheme, { expect }) => {
      const axe = await readFile(AXE, "utf8");
      await page.emulateMedia({ colorScheme });
      const tabs = ["", "/run", "/workers", "/logs", "/metrics", "/versions", "/settings"].map(
        (tab) => endpoint + tab,
      );
      const pages = [
        "/",
        "/endpoints/new",
        ...tabs,
        job,
        "/hosts",
        "/apps",
        "/pods",
        "/templates",
        "/volumes",
        "/secrets",
        "/registries",
        "/webhooks",
        "/usage",
        "/audit",
        "/access",
        "/settings",
      ];
      for (const path of pages) {
        await page.goto(url + path);
        await page.locator("h1").first().waitFor();
        await page.waitForLoadState("networkidle");
        expect(await violationsOf(page, axe), path).toEqual([]);
        for (const width of [360, 768]) {
          await page.setViewportSize({ width, height: 800 });
          expect(await page.evaluate(EXCESS), `${path} at ${width} px`).toBe(0);
        }
        await page.setViewportSize({ width: 1280, height: 900 });
      }
    },
  );

  test("an endpoint is deleted after a question, with its workers", async () => {
    await page.goto(`${url}${endpoint}/settings`);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "No endpoint yet" }).waitFor();
  });

  test("who signs out is out, also with a copy of the cookie, and nothing came from elsewhere", async ({
    expect,
  }) => {
    const cookies = await context.cookies();
    await page.goto(`${url}/access`);
    await page.getByText("this one").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${url}/sign-in`);
    const thief = await browser.newContext();
    await thief.addCookies(cookies);
    const stolen = await thief.newPage();
    await stolen.goto(url);
    await stolen.waitForURL(/\/sign-in/);
    await thief.close();
    // Who leaves a page before it has all ends its requests.
    expect(notes.errors.filter((error) => !error.endsWith(" failed"))).toEqual([]);
    expect(notes.hosts).toEqual(new Set([new URL(url).host]));
  });
});

/** Serious violations, found by the devtools protocol: the page itself may run no code but its own. */
async function violationsOf(page: Page, axe: string): Promise<unknown> {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axe });
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" | ")))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return result.value;
}
