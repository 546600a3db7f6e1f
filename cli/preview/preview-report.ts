/** What a preview prints once it runs. */
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Cli } from "../core/cli.ts";
import { exampleCalls, routesOf, type Route } from "../deploy/endpoint-urls.ts";
import { type GroupedEndpoint, showEndpointGroups } from "../deploy/deployment-report.ts";
import type { LocalServer } from "../server/local-server.ts";
import type { Palette } from "../core/palette.ts";

/** Name of the environment that workers of a preview are in. */
export const PREVIEW_ENVIRONMENT = "preview";

type ShownEndpoint = {
  readonly name: string;
  readonly type: "QB" | "LB";
  /** Its own URL; of a queue its URL at the local server. */
  readonly url: string;
  /** Its URL at the local server. */
  readonly localUrl: string;
  readonly routes: readonly Route[];
};

/** The document of `--json`; its keys stay as they are. */
type PreviewDocument = {
  readonly app: string;
  readonly environment: string;
  readonly url: string;
  readonly endpoints: readonly ShownEndpoint[];
  readonly warnings: readonly string[];
};

/** `ownUrls`: of endpoints with a separate port, by their names. */
export function showPreview(
  cli: Cli,
  order: { readonly appName: string; readonly manifest: FlashManifest; readonly warnings: readonly string[] },
  server: LocalServer,
  ownUrls: ReadonlyMap<string, string>,
): void {
  const { terminal } = cli;
  const { bold, dim } = terminal.palette;
  const { appName, manifest, warnings } = order;
  const endpoints = Object.keys(manifest.resources).map((name) => shown(manifest, server, name, ownUrls));
  showEndpointGroups(
    terminal,
    endpoints.map((endpoint) => grouped(terminal.palette, endpoint)),
  );
  terminal.say();
  terminal.say(bold("Try it"));
  for (const { name, url } of endpoints) {
    const [first] = exampleCalls(manifest, name, url, "local");
    if (first !== undefined) terminal.say(`\n${first}`);
  }
  terminal.say();
  terminal.say(`All of them are under ${bold(server.url)}, and explained at ${bold(`${server.url}/docs`)}.`);
  terminal.say(dim("Ctrl+C stops the containers and removes them."));
  terminal.json({
    app: appName,
    environment: PREVIEW_ENVIRONMENT,
    url: server.url,
    endpoints,
    warnings,
  } satisfies PreviewDocument);
}

function shown(
  manifest: FlashManifest,
  server: LocalServer,
  name: string,
  ownUrls: ReadonlyMap<string, string>,
): ShownEndpoint {
  const localUrl = `${server.url}/${name}`;
  return {
    name,
    type: manifest.resources[name]?.is_load_balanced === true ? "LB" : "QB",
    url: ownUrls.get(name) ?? localUrl,
    localUrl,
    routes: routesOf(manifest, name),
  };
}

function grouped(palette: Palette, { name, type, url, localUrl, routes }: ShownEndpoint): GroupedEndpoint {
  const own = type === "QB" ? `${url}/runsync` : url;
  return { head: palette.bold(name), type, urls: url === localUrl ? [own] : [own, localUrl], routes };
}
