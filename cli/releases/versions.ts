/** The versions of the endpoints of an environment, as its service has recorded them. */
import { Failure } from "../../src/std/failure.ts";
import type { Cli } from "../core/cli.ts";
import { openTarget, type Target } from "../deploy/target.ts";
import { endpointNames, endpointVersions, type Release } from "../service/version-operations.ts";
import type { Service } from "../service/service.ts";

export type VersionOptions = { readonly app?: string; readonly env?: string; readonly endpoint?: string };

export type VersionedEndpoint = {
  readonly id: string;
  readonly name: string;
  /** The current one. */
  readonly version: number;
  /** The newest first. */
  readonly releases: readonly Release[];
};

export type Versions = {
  readonly service: Service;
  readonly target: Target;
  /** By name. */
  readonly endpoints: readonly VersionedEndpoint[];
};

/** Reads the versions of the endpoints of an environment, or of the one that the options name. */
export async function readVersions(cli: Cli, options: VersionOptions): Promise<Versions> {
  const { service, appName, app, environmentName } = await openTarget(cli, options);
  const environment = app?.flashEnvironments.find(({ name }) => name === environmentName);
  if (app === undefined || environment === undefined) throw nothingDeployed(appName, environmentName);
  const { flashEnvironment } = await service.query(endpointNames, { id: environment.id });
  const all = flashEnvironment?.endpoints ?? [];
  if (all.length === 0) throw nothingDeployed(appName, environmentName);
  const { endpoint } = options;
  const chosen = endpoint === undefined ? all : all.filter(({ name }) => name === endpoint);
  if (chosen.length === 0) throw noSuchEndpoint(environmentName, endpoint ?? "", all);
  const endpoints = await Promise.all(
    chosen.map(async (one) => {
      const { myself } = await service.query(endpointVersions, { id: one.id });
      return { ...one, releases: myself.endpoint?.releases ?? [] };
    }),
  );
  return {
    service,
    target: { app: { id: app.id, name: appName }, environment },
    endpoints: endpoints.toSorted((one, other) => one.name.localeCompare(other.name)),
  };
}

/** The endpoint of a command that is about one. */
export function onlyEndpoint({ endpoints }: Versions): VersionedEndpoint {
  const [first, second] = endpoints;
  if (first !== undefined && second === undefined) return first;
  throw new Failure(
    `The environment has several endpoints: ${endpoints.map(({ name }) => name).join(", ")}.`,
    ["Choose one: --endpoint <name>"],
  );
}

export function requireVersion({ name, releases }: VersionedEndpoint, version: number): Release {
  const found = releases.find((release) => release.version === version);
  if (found) return found;
  const [oldest, newest] = [releases.at(-1), releases[0]];
  const range = oldest && newest ? `It has v${oldest.version} to v${newest.version}.` : "It has none.";
  throw new Failure(`Endpoint '${name}' has no version v${version}.`, [range]);
}

function nothingDeployed(appName: string, environmentName: string): Failure {
  return new Failure(`Nothing is deployed in environment '${environmentName}' of app '${appName}'.`, [
    "`flash app list` and `flash env list` show what there is; --app and --env choose.",
  ]);
}

function noSuchEndpoint(environment: string, name: string, all: readonly { name: string }[]): Failure {
  return new Failure(`Environment '${environment}' has no endpoint '${name}'.`, [
    `It has ${all.map((one) => one.name).join(", ")}.`,
  ]);
}
