/** Routes to pods of clusters on other hosts: one for each address, so that a pod may have its own on any host. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { toolEnvironment } from "./firewall.ts";

const run = promisify(execFile);

/** Marks routes of agents; the numbers of known routing programs are lower or higher. */
const PROTOCOL = "213";

export type Route = { readonly address: string; readonly via: string };

/** Sets these routes through an interface, and takes all others away that an agent has set. */
export async function setRoutes(routes: readonly Route[], device: string | null): Promise<void> {
  const { stdout } = await run("ip", ["-4", "route", "show", "proto", PROTOCOL], { env: toolEnvironment() });
  const changes = routeChanges(stdout.split("\n"), device === null ? [] : routes, device ?? "");
  if (changes.length === 0) return;
  const running = run("ip", ["-4", "-batch", "-"], { env: toolEnvironment() });
  running.child.stdin?.end(`${changes.join("\n")}\n`);
  await running;
}

/** Commands of `ip -batch`. `present` is what `ip route show` prints of the routes of agents. */
export function routeChanges(
  present: readonly string[],
  routes: readonly Route[],
  device: string,
): readonly string[] {
  const found = new Map(present.flatMap((line) => readRoute(line)));
  const lines = new Map(routes.map(({ address, via }) => [address, `via ${via} dev ${device}`]));
  return [
    ...[...found.keys()]
      .filter((address) => !lines.has(address))
      .map((address) => `route del ${address}/32 proto ${PROTOCOL}`),
    ...[...lines]
      .filter(([address, line]) => found.get(address) !== line)
      .map(([address, line]) => `route replace ${address}/32 ${line} proto ${PROTOCOL}`),
  ];
}

/** Such as `198.19.3.4 via 192.0.2.2 dev eth1 `; other lines are none of an agent. */
function readRoute(line: string): [string, string][] {
  const [address = "", , via = "", , device = ""] = line.trim().split(" ");
  return device === "" ? [] : [[address, `via ${via} dev ${device}`]];
}
