/** What `flash releases` and `flash diff` do. */
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import type { Release } from "../service/version-operations.ts";
import { changesTogether, shownChanges } from "./changes.ts";
import { onlyEndpoint, readVersions, requireVersion, type VersionOptions } from "./versions.ts";

export async function listReleases(cli: Cli, options: VersionOptions): Promise<void> {
  const { target, endpoints } = await readVersions(cli, options);
  cli.terminal.json({ app: target.app.name, environment: target.environment.name, endpoints });
  if (cli.terminal.isJson) return;
  const now = Date.now();
  cli.terminal.table(
    ["ENDPOINT", "VERSION", "CREATED", "BY", "BUILD", "CHANGED"],
    endpoints.flatMap(({ name, version, releases }) =>
      releases.map((release) => [
        name,
        `v${release.version}${release.version === version ? " (current)" : ""}`,
        ago(release.createdAt, now),
        authorOf(release),
        release.flashBuildId ?? "-",
        summaryOf(release),
      ]),
    ),
  );
}

export async function showDiff(
  cli: Cli,
  { from, to, ...options }: VersionOptions & { readonly from: number; readonly to: number },
): Promise<void> {
  const endpoint = onlyEndpoint(await readVersions(cli, options));
  const [before, after] = [requireVersion(endpoint, from), requireVersion(endpoint, to)];
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  const between = endpoint.releases.filter(({ version }) => version > low && version <= high);
  const forward = shownChanges(changesTogether(between));
  const changes =
    from <= to ? forward : forward.map(({ field, old, new: now }) => ({ field, old: now, new: old }));
  cli.terminal.json({ endpoint: endpoint.name, from: before, to: after, changes });
  if (cli.terminal.isJson) return;
  cli.terminal.say(
    `${endpoint.name} v${from} to v${to}, created ${ago(after.createdAt, Date.now())} by ${authorOf(after)}`,
  );
  if (changes.length === 0) return cli.terminal.say("Nothing differs.");
  cli.terminal.table(
    ["SETTING", `V${from}`, `V${to}`],
    changes.map(({ field, old, new: now }) => [field, shown(old), shown(now)]),
  );
}

function authorOf({ apiKeyName, apiKeyId }: Release): string {
  return apiKeyName ?? (apiKeyId === "" ? "the service" : `deleted key ${apiKeyId}`);
}

function summaryOf({ version, changes, reason }: Release): string {
  if (reason !== null) return reason;
  const names = shownChanges(changes).map(({ field }) => field);
  if (names.length > 0) return names.join(", ");
  return version === 1 ? "created" : "-";
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "string" ? value : JSON.stringify(value);
}
