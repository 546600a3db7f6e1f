import type { Terminal } from "../core/terminal.ts";
import type { Route } from "./endpoint-urls.ts";

export type GroupedEndpoint = {
  /** What stands in its first line. */
  readonly head: string;
  readonly type: "QB" | "LB";
  /** Where it is called; none where it could not be made. */
  readonly urls: readonly string[];
  readonly routes: readonly Route[];
};

/** Shows endpoints with their addresses and routes, those of each type under a title of their own. */
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
