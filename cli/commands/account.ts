/** `flash app`, `flash env`, `flash login` and `flash auth`: what an account has on the service. */
import { Command, Option } from "commander";
import type { Cli } from "../core/cli.ts";
import { appNameOf, checkedName } from "../project/project.ts";
import { readSeconds } from "./options.ts";

const apps = async () => await import("../apps/apps.ts");

export function appCommand(cli: Cli): Command {
  const app = new Command("app").description("List, create and delete apps.");
  app
    .command("list")
    .description("List your apps.")
    .option("--json", "print JSON")
    .action(async () => (await apps()).listApps(cli));
  app
    .command("create <name>")
    .description("Create an app.")
    .option("--json", "print JSON")
    .action(async (name: string) => (await apps()).createApp(cli, name));
  app
    .command("get <name>")
    .description("Show an app's environments and builds.")
    .option("--json", "print JSON")
    .action(async (name: string) => (await apps()).showApp(cli, name));
  app
    .command("delete <name>")
    .description("Delete an app with its endpoints, environments and builds.")
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (name: string) => (await apps()).deleteApp(cli, name));
  return app;
}

const environments = async () => await import("../apps/environments.ts");

type EnvironmentFlags = { readonly app?: string };

export function envCommand(cli: Cli): Command {
  const env = new Command("env").description("List, create and delete environments of an app.");
  env
    .command("list")
    .description("List the environments of an app.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action(async ({ app }: EnvironmentFlags) =>
      (await environments()).listEnvironments(cli, await appNameOf(cli, app)),
    );
  env
    .command("create <name>")
    .description("Create an environment, and its app if it does not exist.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action(async (name: string, { app }: EnvironmentFlags) => {
      const { createEnvironment } = await environments();
      await createEnvironment(cli, await appNameOf(cli, app), await checkedName("environment", name));
    });
  env
    .command("get <name>")
    .description("Show what runs in an environment.")
    .addOption(appOption())
    .option("--json", "print JSON")
    .action(async (name: string, { app }: EnvironmentFlags) =>
      (await environments()).showEnvironment(cli, await appNameOf(cli, app), name),
    );
  env
    .command("delete <name>")
    .description("Delete an environment with all its endpoints.")
    .addOption(appOption())
    .option("-y, --yes", "do not ask")
    .option("--json", "print JSON")
    .action(async (name: string, { app }: EnvironmentFlags) =>
      (await environments()).deleteEnvironment(cli, await appNameOf(cli, app), name),
    );
  return env;
}

function appOption(): Option {
  return new Option("-a, --app <name>", "app (default: name of this directory)");
}

const DEFAULT_TIMEOUT_SECONDS = 600;

type LoginFlags = {
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
    .action(async ({ url, open, timeout }: LoginFlags) => {
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
