/** What `flash init` does. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import type { Cli } from "../cli.ts";
import { checkedName } from "../project.ts";

/** JSON: path → text of the files beside this one; the bundler puts it in. */
declare const FLASH_SKELETON: string;

const PLACEHOLDER = /\{\{app\}\}/g;

export async function initProject(cli: Cli, project: string): Promise<void> {
  const directory = resolve(cli.directory, project);
  const isHere = project !== "" && directory === resolve(cli.directory);
  const app = isHere
    ? nameFrom(basename(directory))
    : await checkedName("app", project && basename(directory));
  const files = JSON.parse(FLASH_SKELETON) as Readonly<Record<string, string>>;
  const paths = Object.keys(files).toSorted();
  if (!(await mayWrite(cli, directory, paths))) return cli.terminal.say("Aborted; nothing was written.");
  await mkdir(directory, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    await writeFile(join(directory, path), text.replaceAll(PLACEHOLDER, app));
  }
  cli.terminal.done(isHere ? `Initialized ${app} in this directory.` : `Created ${app}.`);
  sayTree(cli, basename(directory), paths);
  const appOption = app === basename(directory) ? "" : ` --app ${app}`;
  sayNextSteps(cli, isHere ? undefined : relative(cli.directory, directory), appOption);
}

async function mayWrite(cli: Cli, directory: string, paths: readonly string[]): Promise<boolean> {
  const present = paths.filter((path) => existsSync(join(directory, path)));
  if (present.length === 0) return true;
  cli.terminal.warn(`These files are there already: ${present.join(", ")}.`);
  return await cli.terminal.confirm("Overwrite them?");
}

/** A directory that is there may be called anything. */
function nameFrom(directoryName: string): string {
  const name = directoryName.replaceAll(/[^A-Za-z0-9_-]+/g, "-").replace(/^[-_]+|[-_]+$/g, "");
  return name === "" ? "app" : name;
}

function sayTree(cli: Cli, name: string, paths: readonly string[]): void {
  cli.terminal.say();
  cli.terminal.say(`${name}/`);
  for (const [index, path] of paths.entries()) {
    cli.terminal.say(`${index === paths.length - 1 ? "└──" : "├──"} ${path}`);
  }
}

function sayNextSteps(cli: Cli, directory: string | undefined, appOption: string): void {
  const steps = [
    ...(directory === undefined ? [] : [`cd ${directory}`]),
    "pip install -r requirements.txt",
    "flash login",
    `flash dev${appOption}`,
  ];
  cli.terminal.say();
  cli.terminal.say("Next:");
  for (const step of steps) cli.terminal.say(`  ${step}`);
  cli.terminal.say();
  cli.terminal.say("Then call the functions at http://localhost:8888/docs, edit them, and call them again.");
  cli.terminal.say(
    `Without an account, on this computer alone: flash dev --local${appOption}. For good: flash deploy${appOption}.`,
  );
}
