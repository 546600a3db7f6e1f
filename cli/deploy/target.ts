/** The app and the environment that a deployment goes to. */
import { DEFAULT_ENVIRONMENT } from "../../src/contract/flash/flash-names.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { appNameOf, checkedName } from "../project/project.ts";
import {
  appByName,
  createApp,
  createEnvironment,
  type FlashApp,
  lasting,
} from "../service/flash-operations.ts";
import { ServiceFailure, type Service } from "../service/service.ts";

export type Target = {
  readonly app: { readonly id: string; readonly name: string };
  readonly environment: { readonly id: string; readonly name: string };
};

/** Where a command deploys to, before any of it is created. */
export type ChosenTarget = {
  readonly service: Service;
  readonly appName: string;
  /** Undefined where it does not exist yet. */
  readonly app: FlashApp | undefined;
  readonly environmentName: string;
};

/** Reads `--app` and `--env`, so that a wrong key or an ambiguous environment shows at once. */
export async function openTarget(
  cli: Cli,
  options: { readonly app?: string; readonly env?: string },
): Promise<ChosenTarget> {
  const appName = await appNameOf(cli, options.app);
  const named = options.env === undefined ? undefined : await checkedName("environment", options.env);
  const service = await openService(cli);
  const app = await findApp(service, appName);
  return { service, appName, app, environmentName: chooseEnvironment(app, named) };
}

/** The app of this name, if there is one. */
export async function findApp(service: Service, name: string): Promise<FlashApp | undefined> {
  try {
    return (await service.query(appByName, { name })).flashAppByName;
  } catch (error) {
    if (error instanceof ServiceFailure && error.code === "APP_NOT_FOUND") return undefined;
    throw error;
  }
}

/**
 * The environment to deploy to: the named one, the only one, or "production" where there is none. Throws a Failure that
 * lists them when there are several and none is named.
 */
export function chooseEnvironment(app: FlashApp | undefined, named: string | undefined): string {
  if (named !== undefined) return named;
  const names = lasting(app?.flashEnvironments ?? []).map(({ name }) => name);
  if (names.length > 1) {
    throw new Failure(`App '${app?.name}' has several environments: ${names.join(", ")}.`, [
      "Choose one: --env <name>",
    ]);
  }
  return names[0] ?? DEFAULT_ENVIRONMENT;
}

/** Creates the app and the environment where they do not exist; others may do the same concurrently. */
export async function ensureTarget(
  service: Service,
  appName: string,
  environmentName: string,
): Promise<Target> {
  const app = await ensureApp(service, appName);
  const existing = app.flashEnvironments.find(({ name }) => name === environmentName);
  const environment = existing ?? (await createdEnvironment(service, app, environmentName));
  return { app: { id: app.id, name: appName }, environment: { id: environment.id, name: environmentName } };
}

type AppTraits = {
  /** Where it is created: it is deleted with the last of its sessions. */
  readonly isForSessions?: boolean;
};

/** The app of this name, created where it does not exist. */
export async function ensureApp(service: Service, name: string, traits: AppTraits = {}): Promise<FlashApp> {
  return (await findApp(service, name)) ?? (await createdApp(service, name, traits));
}

async function createdApp(service: Service, name: string, traits: AppTraits): Promise<FlashApp> {
  await service.mutate(createApp, { input: { name, ...traits } }).catch(unlessTaken("APP_NAME_TAKEN"));
  return (await service.query(appByName, { name })).flashAppByName;
}

async function createdEnvironment(
  service: Service,
  app: FlashApp,
  name: string,
): Promise<{ readonly id: string }> {
  await service
    .mutate(createEnvironment, { appId: app.id, name })
    .catch(unlessTaken("FLASH_ENVIRONMENT_NAME_TAKEN"));
  const { flashAppByName } = await service.query(appByName, { name: app.name });
  const made = flashAppByName.flashEnvironments.find((environment) => environment.name === name);
  if (made === undefined) throw new Failure(`Environment '${name}' was deleted while it was being created.`);
  return made;
}

function unlessTaken(code: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof ServiceFailure && error.code === code)) throw error;
  };
}
