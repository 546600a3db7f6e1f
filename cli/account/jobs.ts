/** Jobs of an endpoint: run, listed, shown, streamed, cancelled and retried. */
import { randomUUID } from "node:crypto";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { errorOf, isFinal, jobSchema } from "../calls/job-calls.ts";
import type { Cli } from "../core/cli.ts";
import { ago, counted } from "../core/format.ts";
import { printable } from "../core/printable.ts";
import { inStep } from "../core/terminal.ts";
import type { Service } from "../service/service.ts";
import { openEndpoint, type OpenedEndpoint } from "./endpoints.ts";
import { readInput } from "./input.ts";
import { readJobStream } from "./job-stream.ts";
import { type ListOptions, showList } from "./list.ts";

/** Limit of a long poll. */
const POLL_MS = 10_000;

const stateSchema = z.object({ id: z.string(), status: z.string() });
const optionalMs = z.number().optional();
const rowsSchema = z.object({
  requests: z.array(
    z.looseObject({
      id: z.string(),
      status: z.string(),
      createdAt: z.number(),
      delayTime: optionalMs,
      executionTime: optionalMs,
      error: z.string().optional(),
    }),
  ),
  total: z.number(),
});

export async function runJob(
  cli: Cli,
  nameOrId: string,
  { input, wait }: { readonly input: string; readonly wait: boolean },
): Promise<void> {
  const value = await readInput(input);
  await submitJob(cli, await openEndpoint(cli, nameOrId), { value, wait });
}

/** Runs a job; with `wait` its output is the result of the command. */
export async function submitJob(
  cli: Cli,
  opened: OpenedEndpoint,
  { value, wait, file }: { readonly value: unknown; readonly wait: boolean; readonly file?: string },
): Promise<void> {
  const { service, endpoint } = opened;
  const submitted = await service.read(`/v2/${endpoint.id}/run`, stateSchema, {
    method: "POST",
    headers: { "Idempotency-Key": randomUUID() }, // so that a repeated call makes no second job
    body: JSON.stringify({ input: value }),
  });
  if (!wait) return showState(cli, submitted);
  await showResult(cli, opened, { id: submitted.id, ...(file !== undefined && { file }) });
}

export async function showJob(
  cli: Cli,
  nameOrId: string,
  { id, wait }: { readonly id: string; readonly wait: boolean },
): Promise<void> {
  const opened = await openEndpoint(cli, nameOrId);
  if (wait) return await showResult(cli, opened, { id });
  const job = await opened.service.read(pathOf(opened, "status", id), jobSchema);
  cli.terminal.json(job);
  if (cli.terminal.isJson) return;
  const why = job.queue ? `  ${printable(job.queue.detail ?? job.queue.reason)}` : "";
  cli.terminal.say(`${job.id}  ${job.status}${why}`);
  if (job.status === "FAILED") cli.terminal.say(printable(errorOf(job).error_message));
  if (job["output"] !== undefined) cli.terminal.say(JSON.stringify(job["output"], null, 2));
}

export async function listJobs(
  cli: Cli,
  nameOrId: string,
  { status, limit, ...options }: ListOptions & { readonly status?: string; readonly limit: number },
): Promise<void> {
  const { service, endpoint } = await openEndpoint(cli, nameOrId);
  const filter = status === undefined ? "" : `&status=${encodeURIComponent(status)}`;
  await showList(cli, options, {
    read: async () => {
      const page = await service.read(`/v2/${endpoint.id}/requests?limit=${limit}${filter}`, rowsSchema);
      const more = page.total - page.requests.length;
      const note = more > 0 ? `${counted(more, "more job")}: --limit shows more.` : undefined;
      return { rows: page.requests, document: page, note };
    },
    columns: {
      ID: ({ id }) => id,
      STATUS: ({ status: jobStatus }) => jobStatus,
      CREATED: ({ createdAt }, now) => ago(new Date(createdAt).toISOString(), now),
      QUEUED: ({ delayTime }) => secondsOf(delayTime),
      RAN: ({ executionTime }) => secondsOf(executionTime),
    },
    none: `Endpoint ${endpoint.name} has no such jobs.`,
  });
}

/** Chunks as they come, one in a line; the job goes on when the command is interrupted. */
export async function streamJob(cli: Cli, nameOrId: string, id: string): Promise<void> {
  const opened = await openEndpoint(cli, nameOrId);
  const onChunk = (json: string): void => cli.terminal.writeResult(json);
  const end = await readJobStream(opened.service, pathOf(opened, "stream", id), {
    onChunk,
    signal: cli.signal,
  });
  throwUnlessCompleted(end);
}

/** `cancel` and `retry`. */
export async function changeJob(
  cli: Cli,
  nameOrId: string,
  { id, operation }: { readonly id: string; readonly operation: "cancel" | "retry" },
): Promise<void> {
  const opened = await openEndpoint(cli, nameOrId);
  showState(cli, await opened.service.read(pathOf(opened, operation, id), stateSchema, { method: "POST" }));
}

function pathOf({ endpoint }: OpenedEndpoint, operation: string, jobId: string): string {
  return `/v2/${endpoint.id}/${operation}/${encodeURIComponent(jobId)}`;
}

function showState(cli: Cli, state: z.infer<typeof stateSchema>): void {
  cli.terminal.json(state);
  if (!cli.terminal.isJson) cli.terminal.say(`${state.id}  ${state.status}`);
}

/** Waits for the end of a job; its output is the result of the command, or what a file gets: text as it is, else JSON. */
async function showResult(
  cli: Cli,
  opened: OpenedEndpoint,
  { id, file }: { readonly id: string; readonly file?: string },
): Promise<void> {
  const { endpoint } = opened;
  const failed = `Job ${id} goes on. See it: edgerun job get ${endpoint.name} ${id}. End it: edgerun job cancel ${endpoint.name} ${id}`;
  cli.onForceQuit?.(() => [failed]);
  const job = await inStep(cli.terminal, { title: `Job ${id}`, failed }, async (step) => {
    const ended = await untilEnded(opened.service, pathOf(opened, "status-sync", id), (detail) =>
      step.update(detail),
    );
    const time = `${secondsOf(ended.executionTime)}, waited ${secondsOf(ended.delayTime)}`;
    if (ended.status === "COMPLETED") step.done(`Job ${id} (${time})`);
    else step.fail(`Job ${id} ended as ${ended.status}`);
    return ended;
  }).catch((error: unknown) => {
    if (cli.signal.aborted) cli.terminal.warn(failed);
    throw error;
  });
  if (cli.terminal.isJson) cli.terminal.json(job);
  else if (job["output"] !== undefined) await writeOutput(cli, job["output"], file);
  throwUnlessCompleted(job);
}

async function writeOutput(cli: Cli, output: unknown, file: string | undefined): Promise<void> {
  const json = JSON.stringify(output, null, 2);
  if (file === undefined) return cli.terminal.writeResult(json);
  await writeFileAtomic(file, typeof output === "string" ? output : `${json}\n`);
  cli.terminal.done(`${file} has the output.`);
}

function throwUnlessCompleted(job: z.infer<typeof jobSchema>): void {
  if (job.status === "COMPLETED") return;
  const { error_type, error_message, error_traceback } = errorOf(job);
  throw new Failure(`${error_type}: ${error_message}`, error_traceback?.split("\n") ?? []);
}

async function untilEnded(service: Service, path: string, show: (detail: string) => void) {
  while (true) {
    const job = await service.read(`${path}?wait=${POLL_MS}`, jobSchema);
    if (isFinal(job)) return job;
    show(job.queue === undefined ? job.status : (job.queue.detail ?? job.queue.reason));
  }
}

function secondsOf(ms: number | undefined): string {
  return ms === undefined ? "-" : `${(ms / 1_000).toFixed(1)} s`;
}
