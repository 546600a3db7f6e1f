/** What an account has besides endpoints: hosts, pods, secrets, keys, templates, volumes, logins; and what was done. */
import { Command, Option } from "commander";
import type { AuditOptions, UsageOptions } from "../account/about.ts";
import type { ContainerOptions, TemplateOptions } from "../account/containers.ts";
import type { KeyOptions } from "../account/keys.ts";
import type { Cli } from "../core/cli.ts";
import { containerOptions, json, listCommand, nounCommand, readAge, readCount } from "./nouns.ts";
import { listOption } from "./options.ts";

const HOST = "name or id of a host";

export function hostCommand(cli: Cli): Command {
  const hosts = async () => await import("../account/hosts.ts");
  const host = nounCommand(cli, {
    noun: "host",
    description: "List, add, drain, upgrade and remove hosts.",
    load: async () => (await hosts()).hosts,
    removal: "remove",
  });
  json(host.command("add").description("Print the command with which a host joins.")).action(async () =>
    (await hosts()).addHost(cli),
  );
  json(host.command("drain").argument("<host>", HOST))
    .description("Give a host no new workers, and move those it has elsewhere.")
    .option("--undo", "give it workers again")
    .action(async (name: string, { undo = false }: { readonly undo?: boolean }) =>
      (await hosts()).drainHost(cli, name, !undo),
    );
  json(host.command("upgrade").argument("[host]", HOST))
    .description("Print the command that upgrades the agents of hosts, and which need it.")
    .action(async (name: string | undefined) => (await hosts()).upgradeHosts(cli, name));
  return host;
}

export function secretCommand(cli: Cli): Command {
  const secrets = async () => await import("../account/secrets.ts");
  const secret = nounCommand(cli, {
    noun: "secret",
    description: "List, set and delete secrets; values are never shown.",
    load: async () => (await secrets()).secrets,
  });
  json(secret.command("set").argument("<name>", "name, as in {{ SECRET_name }}"))
    .description("Store a value, asked for or from the standard input.")
    .action(async (name: string) => (await secrets()).setSecret(cli, name));
  return secret;
}

export function keyCommand(cli: Cli): Command {
  const keys = async () => await import("../account/keys.ts");
  const key = nounCommand(cli, {
    noun: "key",
    description: "List, make and revoke API keys.",
    load: async () => (await keys()).keys,
    removal: "revoke",
  });
  json(key.command("create").argument("<name>", "what it is for"))
    .description("Make an API key; by default it may do everything but open shells.")
    .option("--read-only", "look at everything, change nothing")
    .option("--endpoint <endpoints>", "use these endpoints alone, as a comma list", listOption, [])
    .option("--shell", "also open shells in containers")
    .option("--expires <time>", "how long it is valid, such as 12h or 30d", readAge)
    .action(async (name: string, options: KeyOptions) => (await keys()).makeKey(cli, name, options));
  return key;
}

export function templateCommand(cli: Cli): Command {
  const containers = async () => await import("../account/containers.ts");
  const template = nounCommand(cli, {
    noun: "template",
    description: "List, make, change and delete templates.",
    load: async () => (await import("../account/nouns.ts")).templates,
  });
  containerOptions(template.command("create").argument("<name>", "name of the new template"))
    .description("Make a template of an image.")
    .option("--pods", "for pods, not for endpoints")
    .action(async (name: string, options: TemplateOptions) =>
      (await containers()).makeTemplate(cli, name, options),
    );
  containerOptions(template.command("update").argument("<template>", "name or id of a template"))
    .description("Change a template; what is not given stays.")
    .action(async (name: string, options: ContainerOptions) =>
      (await containers()).changeTemplate(cli, name, options),
    );
  return template;
}

const GB = 10;

export function volumeCommand(cli: Cli): Command {
  const nouns = async () => await import("../account/nouns.ts");
  const volume = nounCommand(cli, {
    noun: "volume",
    description: "List, make and delete network volumes.",
    load: async () => (await nouns()).volumes,
  });
  json(volume.command("create").argument("<name>", "name of the new volume"))
    .description("Make a network volume.")
    .option("--size <GB>", "whole GB", readCount, GB)
    .requiredOption("--data-center <id>", "such as EU-RO-1")
    .action(async (name: string, options: { readonly size: number; readonly dataCenter: string }) =>
      (await nouns()).makeVolume(cli, name, options),
    );
  return volume;
}

export function registryCommand(cli: Cli): Command {
  const nouns = async () => await import("../account/nouns.ts");
  const registry = nounCommand(cli, {
    noun: "registry",
    description: "List, store and delete logins of image registries.",
    load: async () => (await nouns()).registries,
  });
  json(registry.command("create").argument("<name>", "name of the login"))
    .description("Store a login; the password is asked for, or is the standard input.")
    .requiredOption("--username <name>", "user of the registry")
    .action(async (name: string, { username }: { readonly username: string }) =>
      (await nouns()).makeRegistry(cli, name, username),
    );
  return registry;
}

export function podCommand(cli: Cli): Command {
  return nounCommand(cli, {
    noun: "pod",
    description: "List and terminate pods.",
    load: async () => (await import("../account/nouns.ts")).pods,
    removal: "terminate",
  });
}

const about = async () => await import("../account/about.ts");

export function whoamiCommand(cli: Cli): Command {
  return json(new Command("whoami"))
    .description("Show the service, the account and the key that commands use.")
    .action(async () => (await about()).showOwner(cli));
}

const WEEK_SECONDS = 7 * 86_400;
const BUCKETS = ["hour", "day", "week", "month", "year"];

export function usageCommand(cli: Cli): Command {
  return listCommand(new Command("usage"))
    .description("Show what endpoints and pods used, and what that costs.")
    .option("--since <time>", "how far back, such as 12h or 30d (default: 7d)", readAge, WEEK_SECONDS)
    .addOption(new Option("--by <bucket>", "a row for each").choices(BUCKETS).default("day"))
    .option("--endpoint <endpoint>", "of this endpoint, by name or id")
    .action(async (options: UsageOptions) => (await about()).showUsage(cli, options));
}

const CHANGES_DEFAULT = 50;

export function auditCommand(cli: Cli): Command {
  return listCommand(new Command("audit"))
    .description("List changes with their key and time, the newest first.")
    .option("--limit <number>", "how many, at most 200", readCount, CHANGES_DEFAULT)
    .option("--kind <kind>", "of this kind of subject, such as endpoint")
    .option("--subject <id>", "of this subject")
    .option("--operation <name>", "by this operation, such as saveEndpoint")
    .option("--before <id>", "older than this entry")
    .action(async (options: AuditOptions) => (await about()).showAuditLog(cli, options));
}

export function openCommand(cli: Cli): Command {
  return json(new Command("open"))
    .description("Open the console in your browser, signed in by a link that is valid once.")
    .option("--no-open", "only print the link")
    .action(async ({ open }: { readonly open: boolean }) =>
      (await about()).openConsole(cli, { opens: open }),
    );
}
