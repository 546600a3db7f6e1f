/** `edgerun endpoint`, `job`, `batch`, `webhook`, `logs` and `worker`: what runs in an account, without an app. */
import { Command } from "commander";
import type { EndpointOptions } from "../account/containers.ts";
import type { ListOptions } from "../account/list.ts";
import type { LogOptions } from "../account/logs.ts";
import type { Cli } from "../core/cli.ts";
import {
  containerOptions,
  json,
  listCommand,
  nounCommand,
  readAge,
  readCount,
  readWholeNumber,
} from "./nouns.ts";

const ENDPOINT = "name or id of an endpoint";
const JOB = "id of a job";
const LINES_DEFAULT = 100;
const JOBS_DEFAULT = 20;

export function endpointCommand(cli: Cli): Command {
  const containers = async () => await import("../account/containers.ts");
  const endpoint = nounCommand(cli, {
    noun: "endpoint",
    description: "List, show, make, change and delete endpoints.",
    load: async () => (await import("../account/endpoints.ts")).endpoints,
  });
  json(endpoint.command("get").argument("<endpoint>", ENDPOINT))
    .description("Show an endpoint with its workers and jobs.")
    .action(async (name: string) => (await import("../account/endpoints.ts")).showEndpoint(cli, name));
  endpointOptions(endpoint.command("create").argument("<name>", "name of the new endpoint"))
    .option("--type <type>", "QB for jobs (default), or LB for requests")
    .description("Make an endpoint of an image or a template.")
    .action(async (name: string, options: EndpointOptions) =>
      (await containers()).makeEndpoint(cli, name, options),
    );
  endpointOptions(endpoint.command("update").argument("<endpoint>", ENDPOINT))
    .description("Change an endpoint; what is not given stays.")
    .action(async (name: string, options: EndpointOptions) =>
      (await containers()).changeEndpoint(cli, name, options),
    );
  json(endpoint.command("purge").argument("<endpoint>", ENDPOINT))
    .description("Cancel all jobs that wait; those that run go on.")
    .option("-y, --yes", "do not ask")
    .action(async (name: string) => (await containers()).purgeEndpoint(cli, name));
  return endpoint;
}

function endpointOptions(command: Command): Command {
  return containerOptions(command)
    .option("--template <template>", "name or id of a template, in place of an image")
    .option("--gpu <tiers>", "GPUs in order of preference, such as ADA_24,AMPERE_80")
    .option("--gpus <number>", "GPUs of each worker", readCount)
    .option("--cpu <size>", "a CPU size such as cpu5c-4-8, in place of a GPU")
    .option("--workers-min <number>", "workers that are always up", readWholeNumber)
    .option("--workers-max <number>", "workers at most", readWholeNumber)
    .option("--idle-timeout <seconds>", "until an idle worker stops", readCount)
    .option("--execution-timeout <seconds>", "how long a job may run", readCount)
    .option("--volume <volume>", "name or id of a volume that workers mount");
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
  const job = new Command("job").description("Run, list, show, stream, cancel and retry jobs.");
  json(job.command("run").argument("<endpoint>", ENDPOINT))
    .description("Run a job and print its output.")
    .option("-i, --input <json>", "JSON, @file, or - for the standard input", "{}")
    .option("--no-wait", "print its id and end")
    .action(async (name: string, options: { readonly input: string; readonly wait: boolean }) =>
      (await jobs()).runJob(cli, name, options),
    );
  listCommand(job.command("list").argument("<endpoint>", ENDPOINT))
    .description("List stored jobs, the newest first.")
    .option("--status <status>", "jobs of this status, such as FAILED")
    .option("--limit <number>", "how many", readCount, JOBS_DEFAULT)
    .action(
      async (name: string, options: ListOptions & { readonly status?: string; readonly limit: number }) =>
        (await jobs()).listJobs(cli, name, options),
    );
  json(job.command("get").argument("<endpoint>", ENDPOINT).argument("<job>", JOB))
    .description("Show a job with its output.")
    .option("--wait", "wait until it has ended")
    .action(async (name: string, id: string, { wait = false }: { readonly wait?: boolean }) =>
      (await jobs()).showJob(cli, name, { id, wait }),
    );
  job
    .command("stream")
    .argument("<endpoint>", ENDPOINT)
    .argument("<job>", JOB)
    .description("Print what a handler yields as it comes, one JSON value in a line.")
    .action(async (name: string, id: string) => (await jobs()).streamJob(cli, name, id));
  for (const operation of ["cancel", "retry"] as const) {
    json(job.command(operation).argument("<endpoint>", ENDPOINT).argument("<job>", JOB))
      .description(operation === "cancel" ? "Cancel a job." : "Queue a failed job again.")
      .action(async (name: string, id: string) => (await jobs()).changeJob(cli, name, { id, operation }));
  }
  return job;
}

type CallFlags = { readonly output?: string; readonly wait: boolean };

export function callCommand(cli: Cli): Command {
  return json(new Command("call"))
    .description("Call a deployed function; its arguments are options behind its name.")
    .argument("<endpoint>", ENDPOINT)
    .argument("[arguments...]", "such as --name Ada, --count 3, --is-new, --text @file.txt")
    .passThroughOptions()
    .option("-o, --output <file>", "write the output to a file, text as it is")
    .option("--no-wait", "print the id of its job and end")
    .action(async (name: string, given: string[], { output, wait }: CallFlags) =>
      (await import("../account/call.ts")).callFunction(cli, name, {
        given,
        wait,
        ...(output !== undefined && { file: output }),
      }),
    );
}

export function topCommand(cli: Cli): Command {
  return json(new Command("top"))
    .description("Watch what endpoints and hosts do now, until Ctrl+C.")
    .action(async () => (await import("../account/top.ts")).showTop(cli));
}

export function batchCommand(cli: Cli): Command {
  const batches = async () => await import("../account/batches.ts");
  const batch = new Command("batch").description("Run, list, show and cancel batches of jobs.");
  json(batch.command("run").argument("<endpoint>", ENDPOINT))
    .description("Start many jobs together, and wait for their end.")
    .requiredOption(
      "-i, --input <json>",
      "array of requests, each with an input; @file, or - for the standard input",
    )
    .option("--no-wait", "print its id and end")
    .action(async (name: string, options: { readonly input: string; readonly wait: boolean }) =>
      (await batches()).runBatch(cli, name, options),
    );
  listCommand(batch.command("list").argument("<endpoint>", ENDPOINT))
    .description("List batches, the newest first.")
    .action(async (name: string, options: ListOptions) => (await batches()).listBatches(cli, name, options));
  const one = (operation: string) =>
    json(batch.command(operation).argument("<endpoint>", ENDPOINT).argument("<batch>", "id of a batch"));
  one("get")
    .description("Show a batch with its progress.")
    .action(async (name: string, id: string) => (await batches()).showOneBatch(cli, name, id));
  for (const operation of ["start", "cancel"] as const) {
    one(operation)
      .description(operation === "start" ? "Start a draft." : "Cancel what waits; what runs may finish.")
      .action(async (name: string, id: string) =>
        (await batches()).changeBatch(cli, name, { id, operation }),
      );
  }
  const results = batch
    .command("results")
    .argument("<endpoint>", ENDPOINT)
    .argument("<batch>", "id of a batch");
  listCommand(results)
    .description("List the requests of a batch with their outputs and errors, in their order.")
    .option("--limit <number>", "how many", readCount, LINES_DEFAULT)
    .action(async (name: string, id: string, options: ListOptions & { readonly limit: number }) =>
      (await batches()).listResults(cli, name, { ...options, id }),
    );
  return batch;
}

export function webhookCommand(cli: Cli): Command {
  const webhooks = async () => await import("../account/webhooks.ts");
  const webhook = new Command("webhook").description("Look at calls of webhooks, and send them again.");
  listCommand(webhook.command("list").argument("<endpoint>", ENDPOINT).argument("<job>", JOB))
    .description("List the calls of a job's webhook, and what was answered.")
    .action(async (name: string, id: string, options: ListOptions) =>
      (await webhooks()).listDeliveries(cli, name, { ...options, id }),
    );
  json(webhook.command("redeliver").argument("<endpoint>", ENDPOINT).argument("<job>", JOB))
    .description("Call a job's webhook once more.")
    .action(async (name: string, id: string) => (await webhooks()).sendAgain(cli, name, id));
  json(webhook.command("secret").description("Print the secret with which receivers verify calls."))
    .option("--rotate", "make a new one; calls are signed with both for 24 hours")
    .option("-y, --yes", "do not ask")
    .action(async (options: { readonly rotate?: boolean }) =>
      (await webhooks()).showSigningSecret(cli, options),
    );
  return webhook;
}

export function workerCommand(cli: Cli): Command {
  const worker = new Command("worker").description("List workers of an endpoint.");
  listCommand(worker.command("list").argument("<endpoint>", ENDPOINT))
    .description("List the workers that have or may get work.")
    .action(async (name: string, options: ListOptions) =>
      (await import("../account/nouns.ts")).listWorkers(cli, name, options),
    );
  return worker;
}
