/** Names of what an account has now, for completion by the Tab key. */
import type { Noun } from "./noun.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { withinMs } from "../service/service.ts";

/** By name of the argument that takes one. */
export type LiveNames = Readonly<Record<string, readonly string[]>>;

/** Who presses Tab waits no longer than this. */
const LIMIT_MS = 1_500;

/** Commands whose first argument is an endpoint. */
const OF_ENDPOINTS = new Set(["endpoint", "job", "batch", "webhook", "worker", "logs", "call"]);

/** Those that a command with these arguments may take; none where the service does not answer in time. */
export async function liveNames(cli: Cli, given: readonly string[]): Promise<LiveNames> {
  const [command = ""] = given;
  const argument = OF_ENDPOINTS.has(command) ? "endpoint" : command;
  try {
    const service = await openService({ ...cli, signal: withinMs(LIMIT_MS, cli.signal) });
    const namesOf = async <Row extends { readonly id: string }>({ rowsOf, nameOf }: Noun<Row>) => ({
      [argument]: (await rowsOf(service)).map(nameOf),
    });
    return await namesOfKind(argument, namesOf);
  } catch {
    return {}; // Completion offers less, and prints no error into the line of the user.
  }
}

async function namesOfKind(
  argument: string,
  namesOf: <Row extends { readonly id: string }>(noun: Noun<Row>) => Promise<LiveNames>,
): Promise<LiveNames> {
  if (argument === "endpoint") return await namesOf((await import("./endpoints.ts")).endpoints);
  if (argument === "host") return await namesOf((await import("./hosts.ts")).hosts);
  if (argument === "secret") return await namesOf((await import("./secrets.ts")).secrets);
  if (argument === "key") return await namesOf((await import("./keys.ts")).keys);
  const { templates, volumes, registries, pods } = await import("./nouns.ts");
  if (argument === "template") return await namesOf(templates);
  if (argument === "volume") return await namesOf(volumes);
  if (argument === "registry") return await namesOf(registries);
  return argument === "pod" ? await namesOf(pods) : {};
}
