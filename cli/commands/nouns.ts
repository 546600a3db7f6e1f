/** What commands of an account's nouns have in common: `list` and `delete`, their options, and the values of options. */
import { Command, InvalidArgumentError, Option } from "commander";
import type { ListOptions } from "../account/list.ts";
import type { Noun, Removal } from "../account/noun.ts";
import type { Cli } from "../core/cli.ts";

type NounCommand<Row extends { readonly id: string }> = {
  readonly noun: string;
  readonly description: string;
  readonly load: () => Promise<Noun<Row> & Removal<Row>>;
  /** Of the command that removes one; `delete` by default. */
  readonly removal?: string;
};

/** A command with `list` and `delete`, to which others are added. */
export function nounCommand<Row extends { readonly id: string }>(
  cli: Cli,
  { noun, description, load, removal = "delete" }: NounCommand<Row>,
): Command {
  const command = new Command(noun).description(description);
  listCommand(command.command("list"))
    .description("List all of the account.")
    .action(async (options: ListOptions) => {
      const { listNoun } = await import("../account/noun.ts");
      await listNoun(cli, await load(), options);
    });
  json(command.command(removal).argument(`<${noun}>`, "its name or id"))
    .description(`${removal[0]?.toUpperCase()}${removal.slice(1)} one for good.`)
    .option("-y, --yes", "do not ask")
    .action(async (nameOrId: string) => {
      const { removeRow } = await import("../account/noun.ts");
      await removeRow(cli, await load(), nameOrId);
    });
  return command;
}

/** Adds the options of lists. */
export function listCommand(command: Command): Command {
  const formats = ["table", "json", "id"];
  return json(command)
    .addOption(new Option("-o, --format <format>", "table, json, or id alone").choices(formats))
    .option("-w, --watch", "show it again every 2 seconds until Ctrl+C");
}

export function json(command: Command): Command {
  return command.option("--json", "print JSON");
}

/** Adds the options of what runs an image. */
export function containerOptions(command: Command): Command {
  return json(command)
    .option("--image <image>", "image that runs")
    .option("--command <arguments>", "arguments after the entry point of the image")
    .option("--disk <GB>", "disk of the container", readCount)
    .option("--env <name=value>", "variable; may be given several times", readVariable, {})
    .option("--registry <login>", "name or id of the login that pulls the image");
}

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s;

export type Variables = Readonly<Record<string, string>>;

export function readVariable(text: string, before: Variables): Variables {
  const [, name, value] = VARIABLE.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name]: value };
  throw new InvalidArgumentError("It must be NAME=value.");
}

export function readCount(value: string): number {
  const number = readWholeNumber(value);
  if (number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

export function readWholeNumber(value: string): number {
  const number = Number(value);
  if (value.trim() !== "" && Number.isInteger(number) && number >= 0) return number;
  throw new InvalidArgumentError("It must be a whole number.");
}

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** In seconds. */
export function readAge(value: string): number {
  const [, number, unit = "s"] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  if (number === undefined) throw new InvalidArgumentError("It must be a time such as 30s, 10m, 2h or 7d.");
  return Number(number) * SECONDS[unit as keyof typeof SECONDS];
}
