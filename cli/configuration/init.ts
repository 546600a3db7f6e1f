/** `flash init`: the files of a new app. */
import { trimOf } from "../../src/net/trimming.ts";
import { existsSync } from "node:fs";
import { mkdir, writeFile, readFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import type { Cli } from "../core/cli.ts";
import { readSettings } from "./settings.ts";
import { checkedName } from "../project/project.ts";
import { PACKAGE_REQUIREMENTS_PATH } from "../../src/contract/flash/packages.ts";

/** JSON of the files in skeleton/, by path; set by the bundler. */
declare const FLASH_SKELETON: string;

const PLACEHOLDER = /\{\{app\}\}/g;

export async function initProject(cli: Cli, project: string): Promise<void> {
  const directory = resolve(cli.directory, project);
  const isHere = project !== "" && directory === resolve(cli.directory);
  const app = isHere
    ? nameFrom(basename(directory))
    : await checkedName("app", project && basename(directory));
  const { url, hasKey } = await chosenService(cli);
  const files: Readonly<Record<string, string>> = {
    ...JSON.parse(FLASH_SKELETON),
    "requirements.txt": requirementsContent(url),
  };
  const paths = Object.keys(files).toSorted();
  if (!(await mayWrite(cli, directory, paths))) return cli.terminal.say("Aborted; nothing was written.");
  await mkdir(directory, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    await writeFile(join(directory, path), content.replaceAll(PLACEHOLDER, app));
  }
  cli.terminal.done(isHere ? `Initialized ${app} in this directory.` : `Created ${app}.`);
  sayTree(cli, basename(directory), paths);
  const appOption = app === basename(directory) ? "" : ` --app ${app}`;
  sayNextSteps(cli, isHere ? undefined : relative(cli.directory, directory), appOption, !hasKey);
}

/** The service that commands would call here; no URL where none was chosen, or where it may not be used. */
async function chosenService(cli: Cli): Promise<{ url: string | undefined; hasKey: boolean }> {
  const settings = await readSettings(cli).catch(() => undefined);
  if (settings === undefined || settings.urlSource === "default") {
    return { url: undefined, hasKey: false };
  }
  return { url: settings.url, hasKey: settings.keys.length > 0 };
}

async function mayWrite(cli: Cli, directory: string, paths: readonly string[]): Promise<boolean> {
  const present = paths.filter((path) => existsSync(join(directory, path)));
  if (present.length === 0) return true;
  cli.terminal.warn(`These files exist already: ${present.join(", ")}.`);
  return await cli.terminal.confirm("Overwrite them?");
}

/** A valid app name made of the name of an existing directory. */
function nameFrom(directoryName: string): string {
  const name = trimOf(directoryName.replaceAll(/[^A-Za-z0-9_-]+/g, "-"), "-_");
  return name === "" ? "app" : name;
}

function sayTree(cli: Cli, name: string, paths: readonly string[]): void {
  cli.terminal.say();
  cli.terminal.say(`${name}/`);
  for (const [index, path] of paths.entries()) {
    cli.terminal.say(`${index === paths.length - 1 ? "└──" : "├──"} ${path}`);
  }
}

function sayNextSteps(cli: Cli, directory: string | undefined, appOption: string, needsLogin: boolean): void {
  const steps = [
    ...(directory === undefined ? [] : [[`cd ${directory}`]]),
    [`flash dev --local${appOption}`, "on this computer only, without an account"],
  ];
  const stepsOfService = [
    ...(needsLogin ? [["flash login", "with --url, unless you run npm start"]] : []),
    ["pip install -r requirements.txt", "the Python package, for scripts and your editor"],
    [`flash dev${appOption}`, "on your hosts, while you edit"],
    [`flash deploy${appOption}`, "permanently"],
  ];
  sayList(cli, "Next:", steps);
  cli.terminal.say();
  cli.terminal.say("Then call the functions at http://localhost:8888/docs, edit them, and call them again.");
  sayList(cli, "With an account:", stepsOfService);
}

function sayList(cli: Cli, title: string, steps: readonly (readonly string[])[]): void {
  const width = Math.max(...steps.map(([command = ""]) => command.length));
  cli.terminal.say();
  cli.terminal.say(title);
  for (const [command = "", what] of steps) {
    cli.terminal.say(what === undefined ? `  ${command}` : `  ${command.padEnd(width)}   # ${what}`);
  }
}

const FILE = "requirements.txt";
/** Placeholder until the URL of the service is known. */
const OPEN_LINE = /^# -r https:\/\/your-edge\.example\/packages\/requirements\.txt$/m;

/** Content of requirements.txt; `url` is that of the service, undefined while none was chosen. */
function requirementsContent(url: string | undefined): string {
  const line = `-r ${url ?? "https://your-edge.example"}${PACKAGE_REQUIREMENTS_PATH}`;
  return [
    "# The Python package of flash, from your own Edgerun: no public registry has it. Workers have it already.",
    ...(url === undefined ? ["# `flash login` puts the URL of yours here.", `# ${line}`] : [line]),
    "",
    "# Packages that your functions need come below.",
    "",
  ].join("\n");
}

/** Replaces the placeholder of {@link requirementsContent} with the URL; returns whether there was one. */
export async function completeRequirements(directory: string, url: string): Promise<boolean> {
  const path = join(directory, FILE);
  const content = await readFile(path, "utf8").catch(() => "");
  if (!OPEN_LINE.test(content)) return false;
  await writeFile(
    path,
    content.replace(OPEN_LINE, () => `-r ${url}${PACKAGE_REQUIREMENTS_PATH}`),
  );
  return true;
}
