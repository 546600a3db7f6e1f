/** What a deployment says at its end. */
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Palette } from "../core/palette.ts";
import type { Terminal } from "../core/terminal.ts";
import { exampleCalls } from "./endpoint-urls.ts";
import { type GroupedEndpoint, showEndpointGroups } from "./endpoint-group.ts";
import type { DeployedEndpoint, Deployment, RemovedEndpoint } from "./deployment.ts";
import type { ReadyEndpoint } from "./waiting.ts";

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
  /** Empty where nobody waited for them. */
  readonly workers: readonly ReadyEndpoint[];
  readonly warnings: readonly string[];
  readonly seconds: number;
};
