/** `flash login` and `flash auth token`. */
import { ignoreFailure } from "../../src/std/errors.ts";
import { setTimeout } from "node:timers/promises";
import { loginCodeOf } from "../../src/contract/flash/flash-names.ts";
import type { Cli } from "../core/cli.ts";
import { readSettings, type Settings, openService } from "./settings.ts";
import { Failure } from "../../src/std/failure.ts";
import { completeRequirements } from "./init.ts";
import { authRequestStatus, createAuthRequest } from "../service/flash-operations.ts";
import { Service } from "../service/service.ts";

const POLL_MS = 2_000;

export type LoginOptions = {
  readonly url: string | undefined;
  readonly opensBrowser: boolean;
  readonly timeoutSeconds: number;
};

export async function logIn(cli: Cli, { url, opensBrowser, timeoutSeconds }: LoginOptions): Promise<void> {
  const settings = await readSettings(cli, url);
  if (!(await mayReplace(cli, settings))) return cli.terminal.say("The stored key was not changed.");
  const deadline = AbortSignal.timeout(timeoutSeconds * 1_000);
  const service = new Service({ url: settings.url, signal: cli.signal });
  const { createFlashAuthRequest: request } = await service.mutate(createAuthRequest, {});
  const page = `${service.url}/flash/login?request=${encodeURIComponent(request.id)}`;
  cli.terminal.say(`Open this page to log in:  ${page}`);
  cli.terminal.say(`It must show the code      ${loginCodeOf(request.id)}`);
  // Without a browser, the printed URL can be opened elsewhere.
  if (opensBrowser) await openPage(page).catch(ignoreFailure);
  const apiKey = await approvedKey(cli, service, request.id, deadline);
  await settings.file.write({
    url: settings.url,
    api_key: apiKey,
    insecure: cli.isInsecure === true ? true : undefined,
  });
  cli.terminal.done(`Logged in to ${settings.url}. The key is stored in ${settings.file.path}.`);
  warnOfOthers(cli, settings, apiKey);
  if (await completeRequirements(cli.directory, settings.url)) {
    cli.terminal.done("requirements.txt has the URL of the Python package: pip install -r requirements.txt");
  }
}

/** Loaded when it is needed: `flash auth token` must start fast. */
export async function openPage(url: string): Promise<void> {
  const { default: open } = await import("open");
  await open(url);
}

async function mayReplace(cli: Cli, { keys, file }: Settings): Promise<boolean> {
  if (!keys.some(({ source }) => source === file.path)) return true;
  return await cli.terminal.confirm(`${file.path} holds an API key already. Replace it?`);
}

async function approvedKey(cli: Cli, service: Service, id: string, deadline: AbortSignal): Promise<string> {
  const step = cli.terminal.step("Waiting for you to approve in the browser");
  while (!deadline.aborted) {
    const { flashAuthRequestStatus: request } = await service.query(authRequestStatus, { id });
    if (request.status === "APPROVED" && request.apiKey !== null) {
      cli.hide?.(request.apiKey);
      step.done("Approved.");
      return request.apiKey;
    }
    if (request.status !== "PENDING") {
      throw new Failure(`Login failed: ${reasonOf(request.status)}.`, ["Run `flash login` again."]);
    }
    await setTimeout(POLL_MS, undefined, { signal: AbortSignal.any([cli.signal, deadline]) }).catch(() =>
      cli.signal.throwIfAborted(),
    );
  }
  throw new Failure("Login timed out: it was not approved in the browser.", [
    "Run `flash login` again, with a longer --timeout if you need it.",
  ]);
}

function reasonOf(status: "APPROVED" | "CONSUMED" | "DENIED" | "EXPIRED"): string {
  if (status === "DENIED") return "it was denied in the browser";
  if (status === "EXPIRED") return "the request has expired";
  return "its key was already fetched";
}

function warnOfOthers(cli: Cli, { keys, file }: Settings, apiKey: string): void {
  const [first] = keys.filter(({ source }) => source !== file.path);
  if (!first || first.apiKey === apiKey) return;
  cli.terminal.warn(`${first.source} holds another API key, which takes precedence over the stored one.`);
}

/** Prints the key that every command would use here; fails where they would fail. */
export async function printToken(cli: Cli): Promise<void> {
  const { apiKey = "" } = await openService(cli);
  cli.terminal.writeResult(apiKey);
}
