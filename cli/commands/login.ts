/** `flash login` and `flash auth`. */
import { Command } from "commander";
import type { Cli } from "../core/cli.ts";
import { readSeconds } from "./options.ts";

const DEFAULT_TIMEOUT_SECONDS = 600;

type Flags = {
  readonly url?: string;
  readonly open: boolean;
  readonly timeout: number;
  readonly insecure?: boolean;
};

export function loginCommand(cli: Cli): Command {
  return new Command("login")
    .description("Log in with your browser, and store the API key on this computer.")
    .option("--url <url>", "URL of the service")
    .option("--no-open", "only print the URL of the page")
    .option("--timeout <seconds>", "how long to wait for you", readSeconds, DEFAULT_TIMEOUT_SECONDS)
    .option("-y, --yes", "replace a stored key without asking")
    .action(async ({ url, open, timeout }: Flags) => {
      const { logIn } = await import("../configuration/login.ts");
      await logIn(cli, { url, opensBrowser: open, timeoutSeconds: timeout });
    });
}

export function authCommand(cli: Cli): Command {
  const auth = new Command("auth").description("Show the credentials that commands use.");
  auth
    .command("token")
    .description("Print the API key, for use as $(flash auth token).")
    .action(async () => {
      const { printToken } = await import("../configuration/login.ts");
      await printToken(cli);
    });
  return auth;
}
