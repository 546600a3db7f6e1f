import { Command } from "commander";
import type { Cli } from "../core/cli.ts";

export function authCommand(cli: Cli): Command {
  const auth = new Command("auth").description("What commands use to call the service.");
  auth
    .command("token")
    .description("Print the API key, for use as $(flash auth token).")
    .action(async () => {
      const { printToken } = await import("../login/token.ts");
      await printToken(cli);
    });
  return auth;
}
