/** Hosts of an account: their list, how one joins, is drained and is upgraded. */
import * as z from "zod";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { printable } from "../core/printable.ts";
import { operation } from "../service/service.ts";
import { chooseRow, type Noun, type Removal } from "./noun.ts";
import { showSecret } from "./secret-result.ts";

const string = z.string();
const hostSchema = z.object({
  id: string,
  name: string,
  isPresent: z.boolean(),
  agentVersion: string.nullable(),
  isAgentOutdated: z.boolean().nullable(),
  isAgentRefused: z.boolean().nullable(),
  workers: z.number().nullable(),
  cordoned: z.boolean(),
  drained: z.boolean(),
  lastSeenAt: string.nullable(),
});
type Host = z.infer<typeof hostSchema>;

const hostsOfAccount = operation(
  `query { myself { hosts {
    id name isPresent agentVersion isAgentOutdated isAgentRefused workers cordoned drained lastSeenAt
  } } }`,
  { myself: z.object({ hosts: z.array(hostSchema) }) },
);
const updateHost = operation("mutation ($input: HostUpdateInput) { hostUpdate(input: $input) { id } }", {
  hostUpdate: z.object({ id: string }),
});
const removeHost = operation("mutation ($input: HostRemoveInput) { hostRemove(input: $input) }", {
  hostRemove: z.null(),
});
const createJoinToken = operation("mutation { joinTokenCreate { installCommand } }", {
  joinTokenCreate: z.object({ installCommand: string }),
});

export const hosts: Noun<Host> & Removal<Host> = {
  one: "host",
  many: "hosts",
  rowsOf: async (service) => (await service.query(hostsOfAccount)).myself.hosts,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    ID: ({ id }) => id,
    STATE: stateOf,
    WORKERS: ({ workers }) => String(workers ?? 0),
    AGENT: agentOf,
    SEEN: ({ lastSeenAt }, now) => (lastSeenAt === null ? "-" : ago(lastSeenAt, now)),
  },
  none: "There are no hosts. `edgerun host add` says how one joins.",
  past: "Removed",
  question: ({ name }) => `Remove host ${name}? It can join only with a new token.`,
  remove: async (service, { id }) => await service.mutate(removeHost, { input: { id } }),
};

/** Prints the command that installs the agent; its token is for one host. */
export async function addHost(cli: Cli): Promise<void> {
  const service = await openService(cli);
  const { installCommand } = (await service.mutate(createJoinToken, {})).joinTokenCreate;
  const said = "Run this on the host; it is for one host:";
  showSecret(cli, { said, secret: installCommand, document: { installCommand } });
}

/** Without new workers, its own move elsewhere after their jobs; or the reverse. */
export async function drainHost(cli: Cli, nameOrId: string, drained: boolean): Promise<void> {
  const service = await openService(cli);
  const host = chooseRow(hosts, await hosts.rowsOf(service), nameOrId);
  await service.mutateIdempotent(updateHost, { input: { id: host.id, drained } });
  cli.terminal.json({ id: host.id, name: host.name, drained });
  cli.terminal.done(
    drained
      ? `Host ${host.name} gets no new workers; those it has are replaced elsewhere after their jobs.`
      : `Host ${host.name} gets workers again.`,
  );
}

/** Prints what upgrades the agent, which is started on the host alone; for all hosts or the one that is named. */
export async function upgradeHosts(cli: Cli, nameOrId: string | undefined): Promise<void> {
  const all = await hosts.rowsOf(await openService(cli));
  const meant = nameOrId === undefined ? all : [chooseRow(hosts, all, nameOrId)];
  const outdated = meant.filter(({ isAgentOutdated }) => isAgentOutdated === true);
  cli.terminal.json({ hosts: outdated, command: UPGRADE });
  if (cli.terminal.isJson) return;
  if (outdated.length === 0) return cli.terminal.say("All agents are those of this edge.");
  cli.terminal.say(`Run this on ${outdated.map(({ name }) => printable(name)).join(", ")}:`);
  cli.terminal.writeResult(UPGRADE);
}

const UPGRADE = "sudo edgerun-agent upgrade";

function agentOf({ agentVersion, isAgentOutdated, isAgentRefused }: Host): string {
  const state = isAgentRefused === true ? " (too old)" : isAgentOutdated === true ? " (outdated)" : "";
  return `${agentVersion ?? "-"}${state}`;
}

function stateOf({ isPresent, drained, cordoned }: Host): string {
  if (!isPresent) return "absent";
  if (drained) return "drained";
  return cordoned ? "cordoned" : "present";
}
