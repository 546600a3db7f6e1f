/** What `edgerun endpoint` does, and the choice of an endpoint by its name or id. */
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { printable } from "../core/printable.ts";
import { namesNear } from "../core/near-names.ts";
import { operation, type Service } from "../service/service.ts";

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
  pods: z.array(z.object({ id: string })),
});
export type AccountEndpoint = z.infer<typeof endpointSchema>;

const endpointsOfAccount = operation(
  `query { myself { endpoints {
    id name type version workersMin workersMax createdAt template { imageName } pods { id }
  } } }`,
  { myself: z.object({ endpoints: z.array(endpointSchema) }) },
);

const healthSchema = z.object({
  jobs: z.record(string, count),
  workers: z.record(string, count),
  obstacle: z.string().nullish(),
});

export type OpenedEndpoint = { readonly service: Service; readonly endpoint: AccountEndpoint };

/** The endpoint of this name or id. Throws a Failure that names near ones, or those that share the name. */
export async function openEndpoint(cli: Cli, nameOrId: string): Promise<OpenedEndpoint> {
  const service = await openService(cli);
  const all = (await service.query(endpointsOfAccount)).myself.endpoints;
  const byId = all.find(({ id }) => id === nameOrId);
  const byName = all.filter(({ name }) => name === nameOrId);
  const [first, second] = byId ? [byId] : byName;
  if (first !== undefined && second === undefined) return { service, endpoint: first };
  if (first !== undefined) {
    const ids = byName.map(({ id }) => id).join(", ");
    throw new Failure(`Several endpoints are called '${nameOrId}'.`, [`Name one by its id: ${ids}`]);
  }
  const near = namesNear(
    nameOrId,
    all.map(({ name }) => name),
  );
  throw new Failure(`There is no endpoint '${nameOrId}'.`, [
    near.length > 0
      ? `Did you mean ${near.join(", ")}?`
      : "`edgerun endpoint list` shows those that there are.",
  ]);
}

export async function listEndpoints(cli: Cli): Promise<void> {
  const service = await openService(cli);
  const { endpoints } = (await service.query(endpointsOfAccount)).myself;
  cli.terminal.json({ endpoints: endpoints.map(viewOf) });
  if (cli.terminal.isJson) return;
  if (endpoints.length === 0) return cli.terminal.say("There are no endpoints. `flash deploy` makes them.");
  const now = Date.now();
  cli.terminal.table(
    ["NAME", "ID", "TYPE", "VERSION", "WORKERS", "CREATED"],
    endpoints.map((endpoint) => [
      endpoint.name,
      endpoint.id,
      endpoint.type,
      `v${endpoint.version}`,
      workersOf(endpoint),
      ago(endpoint.createdAt, now),
    ]),
  );
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

function viewOf({ pods, template, ...rest }: AccountEndpoint) {
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
