/**
 * A real browser for tests: Chromium as the machine has it.
 *
 * Without one, tests in the browser are skipped with a warning; with REQUIRE_BROWSER=1 they fail instead.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Where Chromium is; undefined, with a cry, when it is nowhere. */
export function findBrowser(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable);
  if (found !== undefined) return found;
  if (process.env["REQUIRE_BROWSER"] === "1") {
    throw new Error(`REQUIRE_BROWSER=1, but none of ${NAMES.join(", ")} is on the PATH`);
  }
  process.stderr.write("\n!!!!!! BROWSER TESTS SKIPPED: Chromium is not on the PATH !!!!!!\n\n");
  return undefined;
}

export async function launchBrowser(executablePath: string): Promise<Browser> {
  // Root, as which CI runs, may not use the sandbox.
  return await chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

/** What went wrong on a page, and whom it talked to. */
export type PageNotes = { readonly errors: string[]; readonly hosts: Set<string> };

export function watchPage(page: Page): PageNotes {
  page.setDefaultTimeout(0); // the test has its own
  const notes: PageNotes = { errors: [], hosts: new Set() };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) notes.errors.push(message.text());
  });
  page.on("pageerror", (error) => notes.errors.push(error.message));
  page.on("requestfailed", (request) => notes.errors.push(`${request.url()} failed`));
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== "data:") notes.hosts.add(host);
  });
  return notes;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
