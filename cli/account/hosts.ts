/** What `edgerun host` does. */
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { namesNear } from "../core/near-names.ts";
import { operation, type Service } from "../service/service.ts";

const string = z.string();
const hostSchema = z.object({
  id: string,
  name: string,
  isPresent: z.boolean(),
  agentVersion: string.nullable(),
  workers: z.number().nullable(),
  cordoned: z.boolean(),
  drained: z.boolean(),
  lastSeenAt: string.nullable(),
});
type Host = z.infer<typeof hostSchema>;

const hostsOfAccount = operation(
  "query { myself { hosts { id name isPresent agentVersion workers cordoned drained lastSeenAt } } }",
  { myself: z.object({ hosts: z.array(hostSchema) }) },
);
const updateHost = operation("mutation ($input: HostUpdateInput) { hostUpdate(input: $input) { id } }", {
  hostUpdate: z.object({ id: string }),
});
const createJoinToken = operation("mutation { joinTokenCreate { installCommand } }", {
  joinTokenCreate: z.object({ installCommand: string }),
});

export async function listHosts(cli: Cli): Promise<void> {
  const hosts = await hostsOf(await openService(cli));
  cli.terminal.json({ hosts });
  if (cli.terminal.isJson) return;
  if (hosts.length === 0)
    return cli.terminal.say("There are no hosts. `edgerun host add` says how one joins.");
  const now = Date.now();
  cli.terminal.table(
    ["NAME", "ID", "STATE", "WORKERS", "AGENT", "SEEN"],
    hosts.map((host) => [
      host.name,
      host.id,
      stateOf(host),
      String(host.workers ?? 0),
      host.agentVersion ?? "-",
      host.lastSeenAt === null ? "-" : ago(host.lastSeenAt, now),
    ]),
  );
}

/** Prints the command that installs the agent; its token is for one host. */
export async function addHost(cli: Cli): Promise<void> {
  const service = await openService(cli);
  const { installCommand } = (await service.mutate(createJoinToken, {})).joinTokenCreate;
  if (cli.terminal.isJson) return cli.terminal.json({ installCommand });
  cli.terminal.say("Run this on the host; it is for one host:");
  cli.terminal.writeResult(installCommand);
}

/** Without new workers, its own move elsewhere after their jobs; or the reverse. */
export async function drainHost(cli: Cli, nameOrId: string, drained: boolean): Promise<void> {
  const service = await openService(cli);
  const host = hostNamed(await hostsOf(service), nameOrId);
  await service.mutateIdempotent(updateHost, { input: { id: host.id, drained } });
  cli.terminal.json({ id: host.id, name: host.name, drained });
  cli.terminal.done(
    drained
      ? `Host ${host.name} gets no new workers; those it has are replaced elsewhere after their jobs.`
      : `Host ${host.name} gets workers again.`,
  );
}

async function hostsOf(service: Service): Promise<readonly Host[]> {
  return (await service.query(hostsOfAccount)).myself.hosts;
}

function hostNamed(hosts: readonly Host[], nameOrId: string): Host {
  const found = hosts.filter(({ id, name }) => id === nameOrId || name === nameOrId);
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  if (first !== undefined) {
    throw new Failure(`Several hosts are called '${nameOrId}'.`, [
      `Name one by its id: ${found.map(({ id }) => id).join(", ")}`,
    ]);
  }
  const near = namesNear(
    nameOrId,
    hosts.map(({ name }) => name),
  );
  throw new Failure(`There is no host '${nameOrId}'.`, [
    near.length > 0 ? `Did you mean ${near.join(", ")}?` : "`edgerun host list` shows those that there are.",
  ]);
}

function stateOf({ isPresent, drained, cordoned }: Host): string {
  if (!isPresent) return "absent";
  if (drained) return "drained";
  return cordoned ? "cordoned" : "present";
}
