/** The example endpoint, and one real job through it. */
import { setTimeout as delay } from "node:timers/promises";
import type { ManagementApi } from "./management-api.ts";

const NAME = "hello";
const JOB_LIMIT_MS = 180_000;
const LOOK_AGAIN_MS = 500;
const EXAMPLE_INPUT = { name: "Edgerun" };

/** What a worker of the example runs: an image, and the command in it. */
export type ExampleWorker = { readonly imageName: string; readonly dockerArgs: string };

export type ExampleEndpoint = { readonly id: string; readonly name: string; readonly isNew: boolean };

type Endpoint = { readonly id: string; readonly name: string; readonly templateId: string };
type JobView = {
  readonly id: string;
  readonly status: string;
  readonly output?: unknown;
  readonly error?: string;
};

export type ExampleOutcome =
  | { readonly kind: "completed"; readonly output: unknown; readonly tookMs: number }
  | { readonly kind: "not-completed"; readonly detail: string };

// Endpoint

async function findEndpoint(api: ManagementApi): Promise<Endpoint | undefined> {
  const { myself } = await api.query<{ myself: { endpoints: readonly Endpoint[] } }>(
    "query { myself { endpoints { id name templateId } } }",
  );
  return myself.endpoints.find(({ name }) => name === NAME);
}

async function saveTemplate(
  api: ManagementApi,
  id: string | undefined,
  worker: ExampleWorker,
): Promise<string> {
  const input = {
    ...(id && { id }),
    name: NAME,
    ...worker,
    containerDiskInGb: 5,
    volumeInGb: 0,
    env: [],
    isServerless: true,
  };
  const { saveTemplate: saved } = await api.query<{ saveTemplate: { id: string } }>(
    "mutation Template($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }",
    { input },
  );
  return saved.id;
}

async function createEndpoint(api: ManagementApi, templateId: string): Promise<string> {
  const input = {
    name: NAME,
    templateId,
    gpuIds: "ADA_24",
    workersMin: 0,
    workersMax: 2,
    idleTimeout: 60,
    scalerType: "QUEUE_DELAY",
    scalerValue: 4,
  };
  const { saveEndpoint } = await api.query<{ saveEndpoint: { id: string } }>(
    "mutation Endpoint($input: EndpointInput!) { saveEndpoint(input: $input) { id } }",
    { input },
  );
  return saveEndpoint.id;
}

/** Finds the example endpoint of an earlier start, or makes it; its worker is set anew either way. */
export async function ensureExample(api: ManagementApi, worker: ExampleWorker): Promise<ExampleEndpoint> {
  const existing = await findEndpoint(api);
  const templateId = await saveTemplate(api, existing?.templateId, worker);
  const id = existing?.id ?? (await createEndpoint(api, templateId));
  return { id, name: NAME, isNew: existing === undefined };
}

// Job

type Caller = { readonly url: string; readonly apiKey: string; readonly signal: AbortSignal };

async function call(caller: Caller, method: "GET" | "POST", path: string, body?: unknown): Promise<JobView> {
  const response = await fetch(`${caller.url}/v2/${path}`, {
    method,
    headers: { authorization: `Bearer ${caller.apiKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: caller.signal,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} /v2/${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as JobView;
}

async function queueReason(caller: Caller, endpointId: string): Promise<string> {
  const health: { queue?: { reason?: unknown } } = await fetch(`${caller.url}/v2/${endpointId}/health`, {
    headers: { authorization: `Bearer ${caller.apiKey}` },
  }).then(async (response) => response.json() as Promise<object>);
  return health.queue?.reason ? ` The queue says: ${JSON.stringify(health.queue.reason)}.` : "";
}

/** Runs the job that shows that everything works; says why when it does not complete in time. */
export async function runExampleJob(
  url: string,
  apiKey: string,
  endpointId: string,
  stopped: AbortSignal,
): Promise<ExampleOutcome> {
  const startedAt = Date.now();
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(JOB_LIMIT_MS)]);
  const caller: Caller = { url, apiKey, signal };
  try {
    let job = await call(caller, "POST", `${endpointId}/runsync`, { input: EXAMPLE_INPUT });
    while (job.status === "IN_QUEUE" || job.status === "IN_PROGRESS") {
      await delay(LOOK_AGAIN_MS, undefined, { signal });
      job = await call(caller, "GET", `${endpointId}/status/${job.id}`);
    }
    if (job.status === "COMPLETED") {
      return { kind: "completed", output: job.output, tookMs: Date.now() - startedAt };
    }
    return { kind: "not-completed", detail: `The job is ${job.status}. ${job.error ?? ""}`.trim() };
  } catch (error) {
    if (!signal.aborted) return { kind: "not-completed", detail: String(error) };
    const reason = await queueReason(caller, endpointId).catch(() => "");
    return {
      kind: "not-completed",
      detail: `The job did not complete within ${JOB_LIMIT_MS / 1_000} s.${reason}`,
    };
  }
}
