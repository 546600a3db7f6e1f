/** What a deployment says at its end. */
import type { FlashManifest } from "../../src/contract/flash-manifest.ts";
import type { Palette } from "../terminal/palette.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { exampleCalls } from "./addresses.ts";
import type { DeployedEndpoint, Deployment, RemovedEndpoint } from "./deployment.ts";

export function showDeployment(
  terminal: Terminal,
  manifest: FlashManifest,
  { endpoints, removed }: Deployment,
): void {
  showGroup(terminal, "Load-balanced endpoints", endpoints, "LB");
  showGroup(terminal, "Queue-based endpoints", endpoints, "QB");
  if (removed.length > 0) terminal.say();
  for (const endpoint of removed) showRemoved(terminal, endpoint);
  showCalls(terminal, manifest, endpoints);
}

function showGroup(
  terminal: Terminal,
  title: string,
  endpoints: readonly DeployedEndpoint[],
  type: DeployedEndpoint["type"],
): void {
  const group = endpoints.filter((endpoint) => endpoint.type === type);
  if (group.length === 0) return;
  const { bold, cyan } = terminal.palette;
  terminal.say();
  terminal.say(bold(title));
  for (const endpoint of group) {
    terminal.say(`  ${bold(endpoint.name)}  ${whatHappened(terminal.palette, endpoint)}`);
    if (endpoint.url === null) continue;
    terminal.say(`    ${cyan(type === "QB" ? `${endpoint.url}/runsync` : endpoint.url)}`);
    for (const { method, path } of endpoint.routes) terminal.say(`    ${method.padEnd(6)} ${path}`);
  }
}

function whatHappened(palette: Palette, { action, changes, error }: DeployedEndpoint): string {
  switch (action) {
    case "created":
      return palette.green("created");
    case "updated":
      return `${palette.yellow("updated")} (${changes.join(", ")})`;
    case "unchanged":
      return palette.dim("unchanged");
    case "failed":
      return `${palette.red("failed")}: ${error ?? ""}`;
  }
}

function showRemoved(terminal: Terminal, { name, id, isDeleted, error }: RemovedEndpoint): void {
  if (isDeleted) terminal.done(`Deleted endpoint '${name}' (${id}), which the app no longer has.`);
  else if (error === undefined) {
    terminal.warn(
      `Endpoint '${name}' (${id}) is no longer in the app and keeps running. Give --prune to delete it.`,
    );
  } else terminal.fail(`Endpoint '${name}' (${id}) could not be deleted: ${error}`);
}

function showCalls(
  terminal: Terminal,
  manifest: FlashManifest,
  endpoints: readonly DeployedEndpoint[],
): void {
  const calls = endpoints.flatMap(({ name, url }) => {
    const [first] = url === null ? [] : exampleCalls(manifest, name, url);
    return first === undefined ? [] : [first];
  });
  if (calls.length === 0) return;
  terminal.say();
  terminal.say(terminal.palette.bold("Try it"));
  for (const call of calls) {
    terminal.say();
    terminal.say(call);
  }
}

/** The document of `--json`; its keys stay as they are. */
export type DeploymentDocument = {
  readonly app: string;
  readonly environment: string;
  readonly buildId: string;
  readonly endpoints: readonly DeployedEndpoint[];
  readonly removed: readonly RemovedEndpoint[];
  readonly warnings: readonly string[];
  readonly seconds: number;
};
