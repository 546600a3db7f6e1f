/** The example endpoint, and one real job through it. */
import type { JobView } from "../../src/contract/job.ts";
import type { ManagementApi } from "../../standalone/management-api.ts";

const NAME = "hello";
const JOB_LIMIT_MS = 180_000;
/** Each call waits this long for the job to end; between two calls the user is told why it waits. */
const WAIT_MS = 3_000;
const EXAMPLE_INPUT = { name: "Edgerun" };

/** What a worker of the example runs: an image, and the command in it. */
export type ExampleWorker = { readonly imageName: string; readonly dockerArgs: string };

export type ExampleEndpoint = { readonly id: string; readonly name: string; readonly isNew: boolean };

type Endpoint = { readonly id: string; readonly name: string; readonly templateId: string };

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

/** Finds the example endpoint of an earlier start, or creates it; its worker settings are saved either way. */
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

/** Runs the job that shows that everything works; reports why it waits, or does not complete in time. */
export async function runExampleJob(
  endpointId: string,
  target: { readonly url: string; readonly apiKey: string },
  stopped: AbortSignal,
  say: (line: string) => void,
): Promise<ExampleOutcome> {
  const startedAt = Date.now();
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(JOB_LIMIT_MS)]);
  const caller: Caller = { ...target, signal };
  let waitsFor = "";
  try {
    const submit = `${endpointId}/runsync?wait=${WAIT_MS}`;
    let job = await call(caller, "POST", submit, { input: EXAMPLE_INPUT });
    while (job.status === "IN_QUEUE" || job.status === "IN_PROGRESS") {
      const detail = job.queue?.detail ?? "the worker has the job";
      if (detail !== waitsFor) say(`  still waiting: ${detail}`);
      waitsFor = detail;
      job = await call(caller, "GET", `${endpointId}/status-sync/${job.id}?wait=${WAIT_MS}`);
    }
    return outcomeOf(job, Date.now() - startedAt);
  } catch (error) {
    if (!signal.aborted) return { kind: "not-completed", detail: String(error) };
    const limit = `The job did not complete within ${JOB_LIMIT_MS / 1_000} s.`;
    return { kind: "not-completed", detail: waitsFor ? `${limit} Last: ${waitsFor}` : limit };
  }
}

function outcomeOf(job: JobView, tookMs: number): ExampleOutcome {
  if (job.status === "COMPLETED") return { kind: "completed", output: job.output, tookMs };
  return { kind: "not-completed", detail: `The job is ${job.status}. ${job.error ?? ""}`.trim() };
}
