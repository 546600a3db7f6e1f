/** Live endpoints of `flash dev` processes that were killed. */
import type { Cli } from "../../core/cli.ts";
import { environmentEndpoints, type PresentEndpoint } from "../../service/endpoint-operations.ts";
import { deleteEnvironment, isSessionNotFound } from "../../service/flash-operations.ts";
import type { Service } from "../../service/service.ts";
import { counted } from "../../core/format.ts";
import { processStateOf } from "../../project/process-owner.ts";
import {
  forgetTracked,
  readTracked,
  type TrackedResource,
  trackedSessions,
} from "../../project/tracked-resources.ts";

export type Leftover = {
  readonly session: TrackedResource;
  /** Its endpoints on the service. */
  readonly endpoints: readonly Pick<PresentEndpoint, "id" | "name" | "type">[];
};

/** Sessions of this project whose process has ended. Stops tracking those that no longer exist. */
export async function findLeftovers(cli: Cli, service: Service): Promise<readonly Leftover[]> {
  const leftovers: Leftover[] = [];
  const gone: string[] = [];
  for (const session of trackedSessions(await readTracked(cli.directory))) {
    const found = await findLeftover(service, session);
    if (found === "gone") gone.push(session.id);
    else if (found !== "in use") leftovers.push(found);
  }
  await forgetTracked(cli.directory, gone);
  return leftovers;
}

async function findLeftover(
  service: Service,
  session: TrackedResource,
): Promise<Leftover | "in use" | "gone"> {
  const whereabouts = session.owner ? processStateOf(session.owner) : "ended";
  if (whereabouts === "running") return "in use";
  // A session on another service ends with its lease.
  if (session.service !== service.url) return whereabouts === "ended" ? "gone" : "in use";
  const { flashEnvironment } = await service.query(environmentEndpoints, { id: session.id });
  if (!flashEnvironment) return "gone";
  return whereabouts === "ended" ? { session, endpoints: flashEnvironment.endpoints } : "in use";
}

/**
 * Offers to delete leftovers; answers those that are left, for `openLiveSession` to continue. Without a terminal that is
 * all of them.
 */
export async function offerRemoval(
  cli: Cli,
  service: Service,
  leftovers: readonly Leftover[],
): Promise<readonly Leftover[]> {
  const endpoints = leftovers.flatMap((leftover) => leftover.endpoints);
  if (endpoints.length === 0) {
    await remove(cli, service, leftovers);
    return [];
  }
  const count = counted(endpoints.length, "live endpoint");
  const names = endpoints.map(({ name, id }) => `${name} (${id})`).join(", ");
  const fate = cli.terminal.canAsk ? "" : " They will be used again.";
  cli.terminal.warn(`A killed \`flash dev\` left ${count}: ${names}.${fate}`);
  if (!cli.terminal.canAsk) return leftovers;
  if (!(await cli.terminal.confirm(`Delete ${count}? Otherwise they will be used again.`))) return leftovers;
  await remove(cli, service, leftovers);
  cli.terminal.done(`Deleted ${count}.`);
  return [];
}

async function remove(cli: Cli, service: Service, leftovers: readonly Leftover[]): Promise<void> {
  for (const { session } of leftovers) {
    await service.mutateIdempotent(deleteEnvironment, { id: session.id }).catch((error: unknown) => {
      if (!isSessionNotFound(error)) throw error;
    });
  }
  const ids = leftovers.map(({ session }) => session.id);
  await forgetTracked(cli.directory, ids);
}
