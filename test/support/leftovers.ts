/** What a stopped Edgerun might have left on this machine. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import Docker from "dockerode";

/** All living processes that descend from `pid`, itself included. */
export function familyOf(pid: number): readonly number[] {
  const parents = new Map(processIds().map((id) => [id, parentOf(id)]));
  const family = [pid];
  for (const member of family) {
    for (const [id, parent] of parents) if (parent === member) family.push(id);
  }
  return family;
}

/** Processes that work inside a directory: workers of the process runtime do. */
export function processesIn(directory: string): readonly number[] {
  return processIds().filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(directory);
    } catch {
      return false;
    }
  });
}

export function isAlive(pid: number): boolean {
  return parentOf(pid) !== undefined;
}

export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host: "127.0.0.1", exclusive: true });
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/** Containers, running or not, of one endpoint's workers. */
export async function containersOf(endpointId: string): Promise<readonly string[]> {
  const containers = await new Docker().listContainers({
    all: true,
    filters: { label: [`edgerun.endpoint=${endpointId}`] },
  });
  return containers.map(({ Id: id }) => id);
}

function processIds(): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
}

/** The parent of a living process; undefined for one that is gone or waits to be reaped. */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}
