/** What `flash undeploy` does. */
import type { Cli } from "../core/cli.ts";
import { openService } from "../configuration/settings.ts";
import { environmentNotFound } from "./environments.ts";
import { removeEndpoints } from "./removal.ts";
import { chooseEnvironment, findApp } from "../deploy/target.ts";
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { endpointIds, environmentDetails } from "../service/flash-operations.ts";
import type { Service } from "../service/service.ts";
import {
  forgetTracked,
  ofService,
  readTracked,
  type TrackedResource,
  trackedEndpoints,
  trackedSessions,
} from "../project/tracked-resources.ts";
import { counted } from "../core/format.ts";

const LIST = "list";
const CONFIRMATION = "DELETE ALL";

export type UndeployOptions = {
  readonly app: string;
  readonly name: string | undefined;
  readonly env?: string;
  readonly all?: boolean;
  readonly interactive?: boolean;
  readonly cleanupStale?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
};

type Named = { readonly id: string; readonly name: string };

/** The endpoints of an environment on the service. */
type Deployed = {
  readonly service: Service;
  readonly endpoints: readonly Named[];
  readonly place: string;
};

/** Tracked endpoints: live ones that the service has, and stale ones that it no longer has. */
type TrackedHere = { readonly live: readonly TrackedResource[]; readonly stale: readonly TrackedResource[] };

export async function undeploy(cli: Cli, options: UndeployOptions): Promise<void> {
  checkUsage(options);
  const deployed = await findDeployed(cli, options);
  if (options.name === LIST) return await list(cli, deployed);
  if (options.cleanupStale) return await forgetStale(cli, deployed);
  if (options.all) return await removeAll(cli, deployed, options);
  if (options.interactive) return await removeChosen(cli, deployed);
  return await removeNamed(cli, deployed, options.name ?? "");
}

function checkUsage({ name, all, interactive, cleanupStale }: UndeployOptions): void {
  const given = [name, all, interactive, cleanupStale].filter(Boolean).length;
  if (given === 1) return;
  throw new Failure(
    given === 0 ? "Say what to delete." : "Give one of NAME, --all, --interactive and --cleanup-stale.",
    [
      "flash undeploy list     shows the endpoints",
      "flash undeploy NAME     deletes one endpoint",
      "flash undeploy --all    deletes all of the environment",
    ],
    EXIT_USAGE,
  );
}

async function findDeployed(cli: Cli, { app: appName, env }: UndeployOptions): Promise<Deployed> {
  const service = await openService(cli);
  const app = await findApp(service, appName);
  const name = chooseEnvironment(app, env);
  const place = `app ${appName}, environment ${name}`;
  const environment = app?.flashEnvironments.find((one) => one.name === name);
  if (!environment) {
    if (app && env !== undefined) throw environmentNotFound(app, env);
    return { service, endpoints: [], place };
  }
  const { flashEnvironment } = await service.query(environmentDetails, { id: environment.id });
  return { service, endpoints: flashEnvironment?.endpoints ?? [], place };
}

async function list(cli: Cli, { service, endpoints, place }: Deployed): Promise<void> {
  const { live, stale } = await findTracked(cli, service);
  const present = withLive(endpoints, live).map(({ id, name }) => ({ name, id, state: "active" }));
  const rows = [...present, ...stale.map(({ id, name }) => ({ name, id, state: "inactive" }))];
  cli.terminal.json({ endpoints: rows });
  if (cli.terminal.isJson) return;
  if (rows.length === 0) return cli.terminal.say(`No endpoints found (${place}).`);
  cli.terminal.table(
    ["STATE", "NAME", "ID"],
    rows.map(({ state, name, id }) => [state, name, id]),
  );
}

async function findTracked(cli: Cli, service: Service): Promise<TrackedHere> {
  const tracked = trackedEndpoints(ofService(await readTracked(cli.directory), service.url));
  if (tracked.length === 0) return { live: [], stale: [] };
  const { endpoints } = (await service.query(endpointIds)).myself;
  const present = new Set(endpoints.map(({ id }) => id));
  return {
    live: tracked.filter(({ id, session }) => present.has(id) && session !== undefined),
    stale: tracked.filter(({ id }) => !present.has(id)),
  };
}

/** Endpoints of the environment first; it may itself be a session. */
function withLive(endpoints: readonly Named[], live: readonly TrackedResource[]): readonly Named[] {
  const ids = new Set(endpoints.map(({ id }) => id));
  return [...endpoints, ...live.filter(({ id }) => !ids.has(id))];
}

async function forgetStale(cli: Cli, { service }: Deployed): Promise<void> {
  const [{ stale }, endedSessions] = await Promise.all([findTracked(cli, service), findEnded(cli, service)]);
  if (stale.length === 0) {
    await forget(cli, endedSessions);
    return cli.terminal.say("Nothing is tracked here that the service no longer has.");
  }
  if (!(await cli.terminal.confirm(`Forget ${counted(stale.length, "endpoint")}?`))) return;
  await forget(cli, [...stale, ...endedSessions]);
  cli.terminal.done(`Forgot ${counted(stale.length, "endpoint")}.`);
}

/** Tracked sessions that no longer exist. */
async function findEnded(cli: Cli, service: Service): Promise<readonly TrackedResource[]> {
  const sessions = trackedSessions(ofService(await readTracked(cli.directory), service.url));
  const found = await Promise.all(
    sessions.map(async ({ id }) => (await service.query(environmentDetails, { id })).flashEnvironment),
  );
  return sessions.filter((_, index) => found[index] === null);
}

async function forget(cli: Cli, gone: readonly Named[]): Promise<void> {
  await forgetTracked(
    cli.directory,
    gone.map(({ id }) => id),
  );
}

async function removeNamed(cli: Cli, deployed: Deployed, name: string): Promise<void> {
  const { live } = await findTracked(cli, deployed.service);
  const matches = withLive(deployed.endpoints, live).filter((one) => one.name === name || one.id === name);
  if (matches.length === 0) {
    throw new Failure(`There is no endpoint '${name}' (${deployed.place}).`, [
      "`flash undeploy list` shows the endpoints.",
    ]);
  }
  for (const endpoint of matches) cli.terminal.say(labelOf(endpoint));
  if (!(await cli.terminal.confirm(`Delete ${counted(matches.length, "endpoint")}?`))) return keep(cli);
  await remove(cli, deployed, matches);
}

async function removeAll(cli: Cli, deployed: Deployed, { force, yes }: UndeployOptions): Promise<void> {
  const { endpoints, place } = deployed;
  if (endpoints.length === 0) return nothing(cli, deployed);
  for (const endpoint of endpoints) cli.terminal.say(labelOf(endpoint));
  const count = counted(endpoints.length, "endpoint");
  if (!(await cli.terminal.confirm(`Delete ${count} of ${place}?`))) return keep(cli);
  if (!(force && yes)) await checkTyped(cli);
  await remove(cli, deployed, endpoints);
}

/** A single flag is too easily left in a script. */
async function checkTyped(cli: Cli): Promise<void> {
  const typed = await cli.terminal.askText(
    `Type ${CONFIRMATION} to continue`,
    "Use both --yes and --force to delete all without a question.",
  );
  if (typed !== CONFIRMATION) throw new Failure("Cancelled: the text does not match. Nothing was deleted.");
}

async function removeChosen(cli: Cli, deployed: Deployed): Promise<void> {
  if (deployed.endpoints.length === 0) return nothing(cli, deployed);
  const ids = await cli.terminal.askMany(
    "Which endpoints should be deleted?",
    deployed.endpoints.map((endpoint) => ({ value: endpoint.id, label: labelOf(endpoint) })),
  );
  if (ids.length === 0) return keep(cli);
  if (!(await cli.terminal.confirm(`Delete ${counted(ids.length, "endpoint")}?`))) return keep(cli);
  await remove(
    cli,
    deployed,
    deployed.endpoints.filter(({ id }) => ids.includes(id)),
  );
}

async function remove(cli: Cli, { service }: Deployed, endpoints: readonly Named[]): Promise<void> {
  await removeEndpoints(cli, service, endpoints);
  await forget(cli, endpoints);
  cli.terminal.json({ deleted: endpoints.map(({ id, name }) => ({ id, name })) });
}

function labelOf({ id, name }: Named): string {
  return `${name} (${id})`;
}

function nothing(cli: Cli, { place }: Deployed): void {
  cli.terminal.json({ deleted: [] });
  cli.terminal.say(`No endpoints found (${place}).`);
}

function keep(cli: Cli): void {
  cli.terminal.say("Nothing was deleted.");
}
