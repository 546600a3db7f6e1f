/** What `flash auth token` does. */
import type { Cli } from "../core/cli.ts";
import { openService } from "../configuration/service-access.ts";

/** Hands over the key that every command would use here, and refuses where they would refuse. */
export async function printToken(cli: Cli): Promise<void> {
  const { apiKey = "" } = await openService(cli);
  cli.terminal.writeResult(apiKey);
}
