/** Live endpoints of a `flash dev` that was killed. */
import type { Cli } from "../../core/cli.ts";
import { environmentEndpoints, type PresentEndpoint } from "../../service/endpoint-operations.ts";
import { deleteEnvironment, isSessionNotFound } from "../../service/flash-operations.ts";
import type { Service } from "../../service/service.ts";
import { counted } from "../../core/format.ts";
import { processStateOf } from "../../project/process-owner.ts";
import {
  changeTracked,
  readTracked,
  type TrackedResource,
  trackedSessions,
  withoutIds,
} from "../../project/tracked-resources.ts";

export type Leftover = {
  readonly session: TrackedResource;
  /** What the service has of it. */
  readonly endpoints: readonly Pick<PresentEndpoint, "id" | "name" | "type">[];
};

/** Sessions of this project whose process has ended; those that are no more are forgotten. */
export async function findLeftovers(cli: Cli, service: Service): Promise<readonly Leftover[]> {
  const leftovers: Leftover[] = [];
  const gone: string[] = [];
  for (const session of trackedSessions(await readTracked(cli.directory))) {
    const found = await findLeftover(service, session);
    if (found === "gone") gone.push(session.id);
    else if (found !== "in use") leftovers.push(found);
  }
  await forget(cli, gone);
  return leftovers;
}

async function findLeftover(
  service: Service,
  session: TrackedResource,
): Promise<Leftover | "in use" | "gone"> {
  const whereabouts = session.owner ? processStateOf(session.owner) : "ended";
  if (whereabouts === "running") return "in use";
  // On another service it ends by itself, as its lease does.
  if (session.service !== service.url) return whereabouts === "ended" ? "gone" : "in use";
  const { flashEnvironment } = await service.query(environmentEndpoints, { id: session.id });
  if (!flashEnvironment) return "gone";
  return whereabouts === "ended" ? { session, endpoints: flashEnvironment.endpoints } : "in use";
}

/**
 * Deletes what the person wants deleted; answers what is left, for `openLiveSession` to go on with. Where nobody can be
 * asked that is all of it.
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
  const fate = cli.terminal.canAsk ? "" : " They are used again.";
  cli.terminal.warn(`A flash dev that was killed has left ${count}: ${names}.${fate}`);
  if (!cli.terminal.canAsk) return leftovers;
  if (!(await cli.terminal.confirm(`Delete ${count}? Otherwise they are used again.`))) return leftovers;
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
  await forget(
    cli,
    leftovers.map(({ session }) => session.id),
  );
}

async function forget(cli: Cli, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await changeTracked(cli.directory, (tracked) => withoutIds(tracked, new Set(ids)));
}
