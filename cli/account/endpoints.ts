/** Endpoints of an account: their list, one of them in detail, and the choice of an endpoint by its name or id. */
import * as z from "zod";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { printable } from "../core/printable.ts";
import { removeEndpoint } from "../service/endpoint-operations.ts";
import { operation, type Service } from "../service/service.ts";
import { chooseRow, type Noun, type Removal } from "./noun.ts";

const string = z.string();
const count = z.number();

const endpointSchema = z.object({
  id: string,
  name: string,
  type: string,
  version: count,
  workersMin: count,
  workersMax: count,
  createdAt: string,
  template: z.object({ imageName: string }).nullable(),
  activeBuildid: string.nullish(),
  pods: z.array(z.object({ id: string })),
});
export type AccountEndpoint = z.infer<typeof endpointSchema>;

const endpointsOfAccount = operation(
  `query { myself { endpoints {
    id name type version workersMin workersMax createdAt activeBuildid template { imageName } pods { id }
  } } }`,
  { myself: z.object({ endpoints: z.array(endpointSchema) }) },
);

export const healthSchema = z.object({
  jobs: z.record(string, count),
  workers: z.record(string, count),
  obstacle: z.string().nullish(),
});

export type OpenedEndpoint = { readonly service: Service; readonly endpoint: AccountEndpoint };

/** The endpoint of this name or id. Throws a Failure that names near ones, or those that share the name. */
export async function openEndpoint(cli: Cli, nameOrId: string): Promise<OpenedEndpoint> {
  const service = await openService(cli);
  return { service, endpoint: chooseRow(endpoints, await endpoints.rowsOf(service), nameOrId) };
}

export async function showEndpoint(cli: Cli, nameOrId: string): Promise<void> {
  const { service, endpoint } = await openEndpoint(cli, nameOrId);
  const health = await service.read(`/v2/${endpoint.id}/health`, healthSchema);
  cli.terminal.json({
    ...viewOf(endpoint),
    jobs: health.jobs,
    workersByState: health.workers,
    obstacle: health.obstacle ?? null,
  });
  if (cli.terminal.isJson) return;
  const { terminal } = cli;
  terminal.say(`${terminal.palette.bold(endpoint.name)}  ${endpoint.id}  v${endpoint.version}`);
  terminal.say(`Image    ${endpoint.template?.imageName ?? "-"}`);
  terminal.say(`Workers  ${workersOf(endpoint)}: ${countsOf(health.workers)}`);
  terminal.say(`Jobs     ${countsOf(health.jobs)}`);
  if (health.obstacle) terminal.warn(printable(health.obstacle));
}

export const endpoints: Noun<AccountEndpoint> & Removal<AccountEndpoint> = {
  one: "endpoint",
  many: "endpoints",
  rowsOf: async (service) => (await service.query(endpointsOfAccount)).myself.endpoints,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    ID: ({ id }) => id,
    TYPE: ({ type }) => type,
    VERSION: ({ version }) => `v${version}`,
    WORKERS: workersOf,
    CREATED: ({ createdAt }, now) => ago(createdAt, now),
  },
  none: "There are no endpoints. `edgerun deploy` and `edgerun endpoint create` make them.",
  view: viewOf,
  question: ({ name }) => `Delete endpoint ${name} with its jobs?`,
  remove: async (service, { id }) => await removeEndpoint(service, id),
};

function viewOf({ pods, template, activeBuildid: _, ...rest }: AccountEndpoint) {
  return { ...rest, image: template?.imageName ?? null, workers: pods.length };
}

function workersOf({ pods, workersMin, workersMax }: AccountEndpoint): string {
  return `${pods.length} (${workersMin} to ${workersMax})`;
}

/** Such as "2 idle, 1 running"; `none` where all are 0. */
function countsOf(counts: Readonly<Record<string, number>>): string {
  const shown = Object.entries(counts).filter(([, number]) => number > 0);
  return shown.length === 0 ? "none" : shown.map(([name, number]) => `${number} ${name}`).join(", ");
}
