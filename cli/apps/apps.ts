/** What `flash app` does. */
import type { Cli } from "../core/cli.ts";
import { openService } from "../configuration/settings.ts";
import { findApp } from "../deploy/target.ts";
import { Failure } from "../../src/std/failure.ts";
import { checkedName } from "../project/project.ts";
import * as operations from "../service/flash-operations.ts";
import type { FlashApp } from "../service/flash-operations.ts";
import { ServiceFailure, type Service } from "../service/service.ts";
import { counted } from "../core/format.ts";
import { removeEnvironments } from "./removal.ts";

const BUILDS_SHOWN = 3;

export async function listApps(cli: Cli): Promise<void> {
  const service = await openService(cli);
  const { flashApps } = (await service.query(operations.listApps)).myself;
  const apps = flashApps.map(({ id, name, flashEnvironments, flashBuilds }) => ({
    id,
    name,
    environments: operations.lasting(flashEnvironments).map((environment) => environment.name),
    builds: flashBuilds.length,
  }));
  cli.terminal.json({ apps });
  if (cli.terminal.isJson) return;
  if (apps.length === 0) return cli.terminal.say("There are no apps yet. `flash deploy` creates one.");
  cli.terminal.table(
    ["NAME", "ENVIRONMENTS", "BUILDS"],
    apps.map(({ name, environments, builds }) => [name, String(environments.length), String(builds)]),
  );
}

export async function createApp(cli: Cli, name: string): Promise<void> {
  const checked = await checkedName("app", name);
  const service = await openService(cli);
  const { createFlashApp: app } = await service
    .mutate(operations.createApp, { input: { name: checked } })
    .catch((error: unknown) => {
      const isTaken = error instanceof ServiceFailure && error.code === "APP_NAME_TAKEN";
      throw isTaken ? new Failure(`App '${checked}' already exists.`) : error;
    });
  cli.terminal.json({ app: { id: app.id, name: app.name } });
  cli.terminal.done(`Created app ${app.name}.`);
}

export async function showApp(cli: Cli, name: string): Promise<void> {
  const app = await appNamed(await openService(cli), name);
  const { id, flashEnvironments: environments, flashBuilds } = app;
  const builds = flashBuilds.toSorted((a, b) => (b.createdAt ?? "").localeCompare(a.createdAt ?? ""));
  cli.terminal.json({ app: { id, name: app.name, environments, builds } });
  if (cli.terminal.isJson) return;
  cli.terminal.say(`App ${app.name} (${id})`);
  cli.terminal.say();
  if (environments.length === 0) cli.terminal.say("No environments.");
  else
    cli.terminal.table(
      ["ENVIRONMENT", "STATE", "BUILD", "CREATED"],
      environments.map((environment) => [
        environment.name,
        operations.stateOf(environment),
        environment.activeBuildId ?? "-",
        environment.createdAt ?? "-",
      ]),
    );
  cli.terminal.say();
  showBuilds(cli, builds);
}

export async function deleteApp(cli: Cli, name: string): Promise<void> {
  const service = await openService(cli);
  const app = await appNamed(service, name);
  const count = counted(app.flashEnvironments.length, "environment");
  const isMeant = await cli.terminal.confirm(`Delete app ${app.name} with ${count} and all its endpoints?`);
  if (!isMeant) return cli.terminal.say("Nothing was deleted.");
  await removeEnvironments(cli, service, app.flashEnvironments);
  // An app that was created for sessions is deleted with the last one.
  await service.mutate(operations.deleteApp, { id: app.id }).catch((error: unknown) => {
    if (!(error instanceof ServiceFailure && error.code === "APP_NOT_FOUND")) throw error;
  });
  cli.terminal.json({ deleted: { id: app.id, name: app.name } });
  cli.terminal.done(`Deleted app ${app.name}.`);
}

/** Throws a Failure when it does not exist. */
export async function appNamed(service: Service, name: string): Promise<FlashApp> {
  const app = await findApp(service, name);
  if (app) return app;
  throw new Failure(`There is no app '${name}'.`, [
    "`flash app list` shows your apps; `flash deploy` creates one from this directory.",
  ]);
}

function showBuilds(cli: Cli, builds: FlashApp["flashBuilds"]): void {
  if (builds.length === 0) return cli.terminal.say("No builds.");
  cli.terminal.table(
    ["BUILD", "CREATED"],
    builds.slice(0, BUILDS_SHOWN).map(({ id, createdAt }) => [id, createdAt ?? "-"]),
  );
  const more = builds.length - BUILDS_SHOWN;
  if (more > 0) cli.terminal.say(`and ${more} more`);
}
