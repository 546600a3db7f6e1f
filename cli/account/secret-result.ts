import type { Cli } from "../core/cli.ts";

/** Prints a result that holds a secret, which everything else that a command prints has redacted. */
export function showSecret(
  cli: Cli,
  { said, secret, document }: { readonly said?: string; readonly secret: string; readonly document: unknown },
): void {
  if (cli.terminal.isJson) return cli.terminal.writeResult(JSON.stringify(document, null, 2));
  if (said !== undefined) cli.terminal.say(said);
  cli.terminal.writeResult(secret);
}
