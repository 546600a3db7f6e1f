import type { Cli } from "../core/cli.ts";
import type { LocalServer } from "./local-server.ts";
import { routesOf } from "./requests/route-call.ts";
import type { ServedEndpoint } from "./requests/served-app.ts";

const DESCRIPTION_MAX_CHARACTERS = 60;

/** Shows the URL of the server and the calls of the endpoints. */
export function showStartupTable(cli: Cli, endpoints: readonly ServedEndpoint[], server: LocalServer): void {
  const { terminal } = cli;
  const { bold, dim } = terminal.palette;
  terminal.done(`Serving on ${bold(server.url)}`);
  terminal.say();
  terminal.table(["Call", "Description", "Type"], endpoints.flatMap(rowsOf));
  terminal.say();
  for (const { name, problem } of endpoints) {
    if (problem !== undefined) terminal.warn(`${name} cannot be called now: ${problem}`);
  }
  terminal.say(`Try them at ${bold(`${server.url}/docs`)}. ${dim("Ctrl+C stops.")}`);
}

function rowsOf({ name, resource }: ServedEndpoint): readonly (readonly string[])[] {
  const routes = routesOf(resource);
  if (!resource.is_load_balanced) {
    const [declared] = resource.functions;
    return [[`POST /${name}/runsync`, shortened(declared?.description), "QB"]];
  }
  if (routes.length === 0) return [[`/${name}/…`, "", "LB"]];
  return routes.map(({ method, path }) => {
    const declared = resource.functions.find(
      (one) => one.http_path === path && one.http_method?.toUpperCase() === method,
    );
    return [`${method} /${name}${path}`, shortened(declared?.description), "LB"];
  });
}

function shortened(description: string | null | undefined): string {
  const text = description ?? "";
  if (text.length <= DESCRIPTION_MAX_CHARACTERS) return text;
  return `${text.slice(0, DESCRIPTION_MAX_CHARACTERS - 1).trimEnd()}…`;
}
