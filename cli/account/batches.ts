/** Batches of an endpoint: many jobs that start together. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { printable } from "../core/printable.ts";
import { inStep } from "../core/terminal.ts";
import { openEndpoint, type OpenedEndpoint } from "./endpoints.ts";
import { readInput } from "./input.ts";
import { type ListOptions, showList } from "./list.ts";

const WAIT_PAUSE_MS = 1_000;
const POST = { method: "POST" } as const;

const count = z.number();
const batchSchema = z.looseObject({
  id: z.string(),
  name: z.string().optional(),
  status: z.string(),
  requestTotal: count,
  requestInProgress: count,
  requestCompleted: count,
  requestFailed: count,
  createdAt: count,
});
type Batch = z.infer<typeof batchSchema>;

const batchesSchema = z.looseObject({ batches: z.array(batchSchema), total: count });
const requestSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  output: z.unknown(),
  error: z.string().optional(),
});
const requestsSchema = z.looseObject({ requests: z.array(requestSchema), total: count });

export async function runBatch(
  cli: Cli,
  nameOrId: string,
  { input, wait }: { readonly input: string; readonly wait: boolean },
): Promise<void> {
  const requests = await readInput(input);
  const opened = await openEndpoint(cli, nameOrId);
  const { id } = await opened.service.read(pathOf(opened), z.looseObject({ id: z.string() }), {
    ...POST,
    headers: { "Idempotency-Key": randomUUID() },
    body: JSON.stringify(requests),
  });
  const commands = `${opened.endpoint.name} ${id}`;
  let left = `Batch ${id} is a draft, of which nothing runs. Start it: edgerun batch start ${commands}`;
  cli.onForceQuit?.(() => [left]);
  try {
    const started = await startedBatch(opened, id);
    left = `Batch ${id} goes on. See it: edgerun batch get ${commands}. End it: edgerun batch cancel ${commands}`;
    showBatch(cli, wait ? await untilEnded(cli, opened, { id, failed: left }) : started);
  } catch (error) {
    if (cli.signal.aborted) cli.terminal.warn(left);
    throw error;
  }
}

async function startedBatch(opened: OpenedEndpoint, id: string): Promise<Batch> {
  return await opened.service.read(`${pathOf(opened, id)}/finalize`, batchSchema, POST);
}

async function untilEnded(
  cli: Cli,
  opened: OpenedEndpoint,
  { id, failed }: { readonly id: string; readonly failed: string },
): Promise<Batch> {
  return await inStep(cli.terminal, { title: `Batch ${id}`, failed }, async (step) => {
    while (true) {
      const batch = await opened.service.read(pathOf(opened, id), batchSchema);
      const ended = batch.requestCompleted + batch.requestFailed;
      if (ended === batch.requestTotal) {
        step.done(`Batch ${id}`);
        return batch;
      }
      step.update(`${ended} of ${batch.requestTotal}`);
      await delay(WAIT_PAUSE_MS, undefined, { signal: cli.signal });
    }
  });
}

export async function listBatches(cli: Cli, nameOrId: string, options: ListOptions): Promise<void> {
  const opened = await openEndpoint(cli, nameOrId);
  await showList(cli, options, {
    read: async () => {
      const document = await opened.service.read(pathOf(opened), batchesSchema);
      return { rows: document.batches, document };
    },
    columns: {
      ID: ({ id }) => id,
      NAME: ({ name }) => name ?? "-",
      STATUS: ({ status }) => status,
      ENDED: ({ requestCompleted, requestFailed, requestTotal }) =>
        `${requestCompleted + requestFailed} of ${requestTotal}`,
      FAILED: ({ requestFailed }) => String(requestFailed),
      CREATED: ({ createdAt }, now) => ago(new Date(createdAt).toISOString(), now),
    },
    none: `Endpoint ${opened.endpoint.name} has no batches.`,
  });
}

/** One request in each row, with its output or error. */
export async function listResults(
  cli: Cli,
  nameOrId: string,
  { id, limit, ...options }: ListOptions & { readonly id: string; readonly limit: number },
): Promise<void> {
  const opened = await openEndpoint(cli, nameOrId);
  await showList(cli, options, {
    read: async () => {
      const document = await opened.service.read(
        `${pathOf(opened, id)}/requests?limit=${limit}`,
        requestsSchema,
      );
      return { rows: document.requests, document };
    },
    columns: {
      ID: ({ id: requestId }) => requestId,
      STATUS: ({ status }) => status,
      OUTPUT: ({ output, error }) => shortened(error ?? JSON.stringify(output) ?? "-"),
    },
    none: `Batch ${id} has no requests.`,
  });
}

const OUTPUT_MAX_CHARACTERS = 80;

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= OUTPUT_MAX_CHARACTERS ? line : `${line.slice(0, OUTPUT_MAX_CHARACTERS - 1)}…`;
}

export async function showOneBatch(cli: Cli, nameOrId: string, id: string): Promise<void> {
  const opened = await openEndpoint(cli, nameOrId);
  showBatch(cli, await opened.service.read(pathOf(opened, id), batchSchema));
}

/** `start` for a draft, and `cancel`. */
export async function changeBatch(
  cli: Cli,
  nameOrId: string,
  { id, operation }: { readonly id: string; readonly operation: "start" | "cancel" },
): Promise<void> {
  const opened = await openEndpoint(cli, nameOrId);
  const batch =
    operation === "start"
      ? await startedBatch(opened, id)
      : await opened.service.read(`${pathOf(opened, id)}/cancel`, batchSchema, POST);
  showBatch(cli, batch);
}

function pathOf({ endpoint }: OpenedEndpoint, id?: string): string {
  return `/v2/${endpoint.id}/batch${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;
}

/** Throws a Failure where requests have failed. */
function showBatch(cli: Cli, batch: Batch): void {
  cli.terminal.json(batch);
  const { id, status, requestTotal: total, requestCompleted: completed, requestFailed: failed } = batch;
  if (!cli.terminal.isJson) {
    const counts = `${completed} completed, ${failed} failed, ${batch.requestInProgress} in progress, of ${total}`;
    cli.terminal.say(printable(`${id}  ${status}  ${counts}`));
  }
  if (failed > 0) throw new Failure(`Of the requests of batch ${id} ${failed} did not complete.`);
}
