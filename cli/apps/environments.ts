/** What `flash env` does. */
import type { Cli } from "../core/cli.ts";
import { openService } from "../configuration/settings.ts";
import { endpointUrl } from "../deploy/endpoint-urls.ts";
import { ensureTarget, findApp } from "../deploy/target.ts";
import { Failure } from "../../src/std/failure.ts";
import {
  type EnvironmentEndpoint,
  environmentDetails,
  type FlashApp,
  type FlashEnvironment,
  lasting,
  stateOf,
  gpuName,
} from "../service/flash-operations.ts";
import type { Service } from "../service/service.ts";
import { ago, counted } from "../core/format.ts";
import { appNamed } from "./apps.ts";
import { removeEnvironments } from "./removal.ts";

export async function listEnvironments(cli: Cli, appName: string): Promise<void> {
  const app = await appNamed(await openService(cli), appName);
  const environments = app.flashEnvironments;
  cli.terminal.json({ app: app.name, environments });
  if (cli.terminal.isJson) return;
  if (environments.length === 0) return cli.terminal.say(`App ${app.name} has no environments.`);
  cli.terminal.table(
    ["NAME", "BUILD", "CREATED", "STATE"],
    environments.map((environment) => [
      environment.name,
      environment.activeBuildId ?? "-",
      environment.createdAt === null ? "-" : ago(environment.createdAt, Date.now()),
      stateOf(environment),
    ]),
  );
}

export async function createEnvironment(cli: Cli, appName: string, name: string): Promise<void> {
  const service = await openService(cli);
  const existing = await findApp(service, appName);
  if (existing?.flashEnvironments.some((environment) => environment.name === name)) {
    throw new Failure(`App '${appName}' already has an environment '${name}'.`);
  }
  const { app, environment } = await ensureTarget(service, appName, name);
  cli.terminal.json({ app, environment });
  if (!existing) cli.terminal.done(`Created app ${app.name}.`);
  cli.terminal.done(`Created environment ${environment.name}.`);
}

export async function showEnvironment(cli: Cli, appName: string, name: string): Promise<void> {
  const service = await openService(cli);
  const { id } = await environmentNamed(service, appName, name);
  const { flashEnvironment: environment } = await service.query(environmentDetails, { id });
  if (!environment) throw new Failure(`Environment '${name}' was deleted a moment ago.`);
  const { endpoints, networkVolumes, ...rest } = environment;
  const views = endpoints.map((endpoint) => endpointView(service, endpoint));
  cli.terminal.json({ app: appName, environment: rest, endpoints: views, networkVolumes });
  if (cli.terminal.isJson) return;
  cli.terminal.say(`Environment ${name} of app ${appName}`);
  cli.terminal.say(`State         ${stateOf(environment)}`);
  if (environment.leaseExpiresAt !== null) {
    cli.terminal.say(`Lease         until ${environment.leaseExpiresAt}, unless it is renewed`);
  }
  cli.terminal.say(`Active build  ${environment.activeBuildId ?? "-"}`);
  cli.terminal.say();
  if (views.length === 0) cli.terminal.say("Nothing is deployed. Run `flash deploy`.");
  else
    cli.terminal.table(
      ["ENDPOINT", "ID", "WORKERS", "URL"],
      views.map((endpoint) => [endpoint.name, endpoint.id, workersOf(endpoint), endpoint.url]),
    );
  if (networkVolumes.length === 0) return;
  cli.terminal.say();
  cli.terminal.table(
    ["VOLUME", "ID", "SIZE", "DATA CENTER"],
    networkVolumes.map((volume) => [volume.name, volume.id, `${volume.size} GB`, volume.dataCenterId]),
  );
}

export async function deleteEnvironment(cli: Cli, appName: string, name: string): Promise<void> {
  const service = await openService(cli);
  const environment = await environmentNamed(service, appName, name);
  const isMeant = await cli.terminal.confirm(
    `Delete environment ${name} of app ${appName} with all its endpoints?`,
  );
  if (!isMeant) return cli.terminal.say("Nothing was deleted.");
  await removeEnvironments(cli, service, [environment]);
  cli.terminal.json({ deleted: { id: environment.id, name } });
}

async function environmentNamed(service: Service, appName: string, name: string): Promise<FlashEnvironment> {
  const app = await appNamed(service, appName);
  const found = app.flashEnvironments.find((environment) => environment.name === name);
  if (found) return found;
  throw environmentNotFound(app, name);
}

/** Names the environments that exist. */
export function environmentNotFound(app: FlashApp, name: string): Failure {
  const names = lasting(app.flashEnvironments)
    .map((environment) => environment.name)
    .join(", ");
  return new Failure(`App '${app.name}' has no environment '${name}'.`, [
    names === "" ? "It has none; `flash deploy` creates one." : `It has ${names}.`,
  ]);
}

function endpointView(service: Service, endpoint: EnvironmentEndpoint) {
  const { id, name, type, workersMin, workersMax, pods } = endpoint;
  const workers = pods.map((pod) => ({
    id: pod.id,
    status: pod.desiredStatus,
    gpu: pod.machine?.gpuDisplayName ?? null,
    isGpuSimulated: pod.machine?.isGpuSimulated ?? false,
    gpuCount: pod.gpuCount,
    location: pod.machine?.location ?? null,
  }));
  return {
    id,
    name,
    type,
    url: endpointUrl(service.url, id, type === "LB"),
    workersMin,
    workersMax,
    workers,
  };
}

/** Such as "2 workers (L4), at most 3", or "1 worker (simulated L4), at most 3". */
function workersOf({ workers, workersMax }: ReturnType<typeof endpointView>): string {
  const names = workers.map(({ gpu, isGpuSimulated }) => gpuName({ gpuDisplayName: gpu, isGpuSimulated }));
  const gpus = [...new Set(names.filter((name) => name !== undefined))];
  const kinds = gpus.length > 0 ? ` (${gpus.join(", ")})` : "";
  return `${counted(workers.length, "worker")}${kinds}, at most ${workersMax}`;
}
