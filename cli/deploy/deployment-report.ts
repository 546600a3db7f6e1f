/** What a deployment says at its end. */
import pc from "picocolors";
import type { FlashManifest } from "../../src/contract/flash-manifest.ts";
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
  terminal.say();
  terminal.say(pc.bold(title));
  for (const endpoint of group) {
    terminal.say(`  ${pc.bold(endpoint.name)}  ${whatHappened(endpoint)}`);
    if (endpoint.url === null) continue;
    terminal.say(`    ${pc.cyan(type === "QB" ? `${endpoint.url}/runsync` : endpoint.url)}`);
    for (const { method, path } of endpoint.routes) terminal.say(`    ${method.padEnd(6)} ${path}`);
  }
}

function whatHappened({ action, changes, error }: DeployedEndpoint): string {
  switch (action) {
    case "created":
      return pc.green("created");
    case "updated":
      return `${pc.green("updated")} (${changes.join(", ")})`;
    case "unchanged":
      return pc.dim("unchanged");
    case "failed":
      return `${pc.red("failed")}: ${error ?? ""}`;
  }
}

function showRemoved(terminal: Terminal, { name, id, isDeleted, error }: RemovedEndpoint): void {
  if (isDeleted) terminal.done(`Deleted endpoint '${name}' (${id}), which the app no longer has.`);
  else if (error === undefined) {
    terminal.warn(
      `Endpoint '${name}' (${id}) is no longer in the app and keeps running. Delete it: flash deploy --prune`,
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
  terminal.say(pc.bold("Try it"));
  for (const call of calls) {
    terminal.say();
    terminal.say(call);
  }
}
