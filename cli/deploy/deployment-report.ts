/** Output of a deployment. */
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Palette } from "../core/palette.ts";
import type { Terminal } from "../core/terminal.ts";
import { exampleCalls, type Route } from "./endpoint-urls.ts";
import type { DeployedEndpoint, Deployment, RemovedEndpoint } from "./deployment.ts";
import type { WorkerFailure } from "./worker-failures.ts";
import type { ReadyEndpoint } from "./worker-wait.ts";

export function showDeployment(
  terminal: Terminal,
  manifest: FlashManifest,
  { endpoints, removed }: Deployment,
  hostOf?: (id: string) => string,
): void {
  showEndpointGroups(
    terminal,
    endpoints.map((endpoint) => grouped(terminal.palette, endpoint, hostOf)),
  );
  if (removed.length > 0) terminal.say();
  for (const endpoint of removed) showRemoved(terminal, endpoint);
  showCalls(terminal, manifest, endpoints);
}

function grouped(
  palette: Palette,
  endpoint: DeployedEndpoint,
  hostOf: ((id: string) => string) | undefined,
): GroupedEndpoint {
  const { name, id, type, url, routes } = endpoint;
  const head = `${palette.bold(name)}  ${whatHappened(palette, endpoint)}`;
  if (url === null || id === null) return { head, type, urls: [], routes };
  if (type === "QB") return { head, type, urls: [`${url}/runsync`], routes };
  return { head, type, urls: hostOf === undefined ? [url] : [url, hostOf(id)], routes };
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
  if (isDeleted) terminal.done(`Deleted endpoint '${name}' (${id}), which is no longer in the app.`);
  else if (error === undefined) {
    terminal.warn(
      `Endpoint '${name}' (${id}) is no longer in the app and keeps running. Use --prune to delete it.`,
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

/** The document of `--json`; its keys are stable. */
export type DeploymentDocument = {
  readonly app: string;
  readonly environment: string;
  readonly buildId: string;
  readonly endpoints: readonly DeployedEndpoint[];
  readonly removed: readonly RemovedEndpoint[];
  /** Empty with `--no-wait`. */
  readonly workers: readonly ReadyEndpoint[];
  /** Endpoints without a ready worker. */
  readonly failures: readonly WorkerFailure[];
  readonly warnings: readonly string[];
  readonly seconds: number;
};

export type GroupedEndpoint = {
  /** Its first line. */
  readonly head: string;
  readonly type: "QB" | "LB";
  /** Its URLs; empty when it could not be created. */
  readonly urls: readonly string[];
  readonly routes: readonly Route[];
};

/** Shows endpoints with their URLs and routes, grouped by type. */
export function showEndpointGroups(terminal: Terminal, endpoints: readonly GroupedEndpoint[]): void {
  showGroup(terminal, "Load-balanced endpoints", endpoints, "LB");
  showGroup(terminal, "Queue-based endpoints", endpoints, "QB");
}

function showGroup(
  terminal: Terminal,
  title: string,
  endpoints: readonly GroupedEndpoint[],
  type: GroupedEndpoint["type"],
): void {
  const group = endpoints.filter((endpoint) => endpoint.type === type);
  if (group.length === 0) return;
  const { bold, cyan } = terminal.palette;
  terminal.say();
  terminal.say(bold(title));
  for (const { head, urls, routes } of group) {
    terminal.say(`  ${head}`);
    for (const url of urls) terminal.say(`    ${cyan(url)}`);
    if (urls.length === 0) continue;
    for (const { method, path } of routes) terminal.say(`    ${method.padEnd(6)} ${path}`);
  }
}
