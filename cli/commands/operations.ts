/** `edgerun endpoint`, `job`, `logs`, `host` and `secret`: what an account has, without an app. */
import { Command, InvalidArgumentError } from "commander";
import type { LogOptions } from "../account/logs.ts";
import type { Cli } from "../core/cli.ts";

const ENDPOINT = "name or id of an endpoint";
const LINES_DEFAULT = 100;
const JOBS_DEFAULT = 20;

export function endpointCommand(cli: Cli): Command {
  const endpoints = async () => await import("../account/endpoints.ts");
  const endpoint = new Command("endpoint").description("List and show endpoints.");
  json(endpoint.command("list").description("List the endpoints of the account.")).action(async () =>
    (await endpoints()).listEndpoints(cli),
  );
  json(endpoint.command("get").argument("<endpoint>", ENDPOINT))
    .description("Show an endpoint with its workers and jobs.")
    .action(async (name: string) => (await endpoints()).showEndpoint(cli, name));
  return endpoint;
}

export function logsCommand(cli: Cli): Command {
  return json(new Command("logs").argument("<endpoint>", ENDPOINT))
    .description("Show what the workers of an endpoint print.")
    .option("-f, --follow", "go on with new lines until Ctrl+C; with --json one document per line")
    .option("--job <id>", "lines of this job")
    .option("--worker <id>", "lines of this worker")
    .option("--search <text>", "lines with this text")
    .option("--level <level>", "lines of this level, such as ERROR")
    .option("--since <time>", "not older than, such as 30s, 10m, 2h or 7d", readAge)
    .option("-n, --tail <number>", "how many of the last lines", readCount, LINES_DEFAULT)
    .action(async (name: string, options: LogOptions) => {
      const { showLogs } = await import("../account/logs.ts");
      await showLogs(cli, name, options);
    });
}

export function jobCommand(cli: Cli): Command {
  const jobs = async () => await import("../account/jobs.ts");
  const job = new Command("job").description("Run, list, show, cancel and retry jobs.");
  json(job.command("run").argument("<endpoint>", ENDPOINT))
    .description("Run a job and print its output.")
    .option("-i, --input <json>", "JSON, @file, or - for the standard input", "{}")
    .option("--no-wait", "print its id and end")
    .action(async (name: string, options: { readonly input: string; readonly wait: boolean }) =>
      (await jobs()).runJob(cli, name, options),
    );
  json(job.command("list").argument("<endpoint>", ENDPOINT))
    .description("List stored jobs, the newest first.")
    .option("--status <status>", "jobs of this status, such as FAILED")
    .option("--limit <number>", "how many", readCount, JOBS_DEFAULT)
    .action(async (name: string, options: { readonly status?: string; readonly limit: number }) =>
      (await jobs()).listJobs(cli, name, options),
    );
  json(job.command("get").argument("<endpoint>", ENDPOINT).argument("<job>", "id of a job"))
    .description("Show a job with its output.")
    .option("--wait", "wait until it has ended")
    .action(async (name: string, id: string, { wait = false }: { readonly wait?: boolean }) =>
      (await jobs()).showJob(cli, name, { id, wait }),
    );
  for (const operation of ["cancel", "retry"] as const) {
    json(job.command(operation).argument("<endpoint>", ENDPOINT).argument("<job>", "id of a job"))
      .description(operation === "cancel" ? "Cancel a job." : "Queue a failed job again.")
      .action(async (name: string, id: string) => (await jobs()).changeJob(cli, name, { id, operation }));
  }
  return job;
}

export function hostCommand(cli: Cli): Command {
  const hosts = async () => await import("../account/hosts.ts");
  const host = new Command("host").description("List, add and drain hosts.");
  json(host.command("list").description("List the hosts of the account.")).action(async () =>
    (await hosts()).listHosts(cli),
  );
  json(host.command("add").description("Print the command with which a host joins.")).action(async () =>
    (await hosts()).addHost(cli),
  );
  json(host.command("drain").argument("<host>", "name or id of a host"))
    .description("Give a host no new workers, and move those it has elsewhere.")
    .option("--undo", "give it workers again")
    .action(async (name: string, { undo = false }: { readonly undo?: boolean }) =>
      (await hosts()).drainHost(cli, name, !undo),
    );
  return host;
}

export function secretCommand(cli: Cli): Command {
  const secrets = async () => await import("../account/secrets.ts");
  const secret = new Command("secret").description("List, set and delete secrets.");
  json(secret.command("list").description("List names of secrets; values are never shown.")).action(
    async () => (await secrets()).listSecrets(cli),
  );
  json(secret.command("set").argument("<name>", "name, as in {{ SECRET_name }}"))
    .description("Store a value, asked for or from the standard input.")
    .action(async (name: string) => (await secrets()).setSecret(cli, name));
  json(secret.command("delete").argument("<name>", "name of a secret"))
    .description("Delete a secret.")
    .option("-y, --yes", "do not ask")
    .action(async (name: string) => (await secrets()).removeSecret(cli, name));
  return secret;
}

function json(command: Command): Command {
  return command.option("--json", "print JSON");
}

function readCount(value: string): number {
  const number = Number(value);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** In seconds. */
function readAge(value: string): number {
  const [, number, unit = "s"] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  if (number === undefined) throw new InvalidArgumentError("It must be a time such as 30s, 10m, 2h or 7d.");
  return Number(number) * SECONDS[unit as keyof typeof SECONDS];
}
