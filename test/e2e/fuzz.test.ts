/**
 * Random requests at a real edge. Whatever comes, the answer is JSON with a documented status, or what its address
 * is known to give instead (`forms.ts`); nothing breaks, nothing is given away.
 *
 *   FUZZ_RUNS=20000 npx vitest run --project e2e test/e2e/fuzz.test.ts
 *   FUZZ_SEED=… FUZZ_FROM=…   the same requests again, from the one that a failure names
 */
import { readFileSync } from "node:fs";
import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from "graphql";
import { test } from "vitest";
import { managementApi, type ManagementApi } from "../../standalone/management-api.ts";
import { Chance } from "../support/fuzz/chance.ts";
import { formFailure, isDownload, isEventStream, isJson, type Answer } from "../support/fuzz/forms.ts";
import { writeRequest, type FuzzRequest, type Target } from "../support/fuzz/requests.ts";
import { listRoutes } from "../support/fuzz/routes.ts";
import { PLANTED, World } from "../support/fuzz/world.ts";
import { usedHeap } from "../support/edge-heap.ts";
import { startLoneEdge, type LoneEdge } from "../support/lone-edge.ts";
import { createEndpoint } from "../support/management-client.ts";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 1_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const FROM = Number(process.env["FUZZ_FROM"] ?? 0);
const CALLERS = 12;
/** After each the account is tidied. A multiple of four. */
const PARTS = Math.max(4, 4 * Math.round(RUNS / 4_000));
/** A call that waits for a worker may; there is none. */
const PATIENCE_MS = 1_500;
/** OpenAI's routes wait for as long as their client does, so most of their requests come to this. */
const OPENAI_PATIENCE_MS = 500;
/** Beyond what any machine needs. */
const ANSWER_LIMIT_MS = 30_000;

/** More requests, by the number of parts, whose first use of code and caches the bound below does not concern. */
const WARM_UP_PARTS = PARTS / 4;
/** Bytes by which the edge's heap may grow over three quarters of the runs: caches fill, whatever their number. */
const HEAP_GROWTH_MAX = 2_000_000;

const STATUSES = [200, 201, 202, 204, 400, 401, 404, 405, 409, 413, 429];
const PAGE_STATUSES = [206, 302, 304, 307, 416];
const STACK = /\bat \S.*\.[cm]?[jt]s:\d+|Error: .*\n\s+at /;

/** Says whether a call may be held until a worker comes. */
function isWaiting({ path }: FuzzRequest): boolean {
  return /runsync|status|stream|openai|^\/lb\//.test(path);
}

function patienceFor(request: FuzzRequest): number {
  if (request.path.includes("openai")) return OPENAI_PATIENCE_MS;
  return isWaiting(request) ? PATIENCE_MS : ANSWER_LIMIT_MS;
}

async function perform(baseUrl: string, request: FuzzRequest): Promise<Answer> {
  const { method, path, headers, body } = request;
  const tooLong = new AbortController();
  const { signal } = tooLong;
  const timer = setTimeout(() => tooLong.abort(), patienceFor(request));
  try {
    const response = await fetch(baseUrl + path, { method, headers, body, signal, redirect: "manual" });
    const type = response.headers.get("content-type") ?? "";
    if (isEventStream(type)) clearTimeout(timer);
    const text = isEventStream(type) ? await readEvents(response) : await response.text();
    return { status: response.status, text, type };
  } catch (error) {
    if (signal.aborted) return { status: "held", text: "", type: "" };
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** What comes of a stream in a while. It may go on for ever, or break off: who reads it would connect again. */
async function readEvents({ body }: Response): Promise<string> {
  if (!body) return "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => await reader.read().catch(() => ({ done: true }) as const);
  const timer = setTimeout(() => void reader.cancel(), PATIENCE_MS);
  let text = "";
  for (let part = await next(); !part.done; part = await next()) text += part.value;
  clearTimeout(timer);
  return text;
}

/** What is wrong with an answer, if anything is. */
function failureOf(request: FuzzRequest, outcome: Answer, secrets: readonly string[]): string | undefined {
  const { status, text } = outcome;
  if (status === "held") return isWaiting(request) ? undefined : "no answer";
  if (!isExpected(request, outcome)) return `status ${status}`;
  if (STACK.test(text)) return "a stack";
  if (secrets.some((secret) => text.includes(secret))) return "a secret";
  if (/"code":"internal"/i.test(text)) return "an internal error";
  const isBare = request.method === "HEAD" || [204, 304].includes(status) || isPage(request);
  return isBare ? undefined : formFailure(request, outcome);
}

function isExpected(request: FuzzRequest, { status, text }: Answer): boolean {
  if (status === 503) return /"code":"no_(capacity|worker)"/.test(text);
  if (status === 304 && isDownload(request)) return true;
  return [...STATUSES, ...(isPage(request) ? PAGE_STATUSES : [])].includes(Number(status));
}

/** People are shown pages; from /graphql they are sent to one. */
function isPage({ method, path }: FuzzRequest): boolean {
  return ["GET", "HEAD"].includes(method) && /^\/(docs|graphql)\b|^\/(\?|$)/.test(path);
}

type Token = { readonly token: string };

/** Keys beside the root key that requests are made with. None of them may appear in an answer. */
async function plantKeys(api: ManagementApi, endpointId: string): Promise<readonly string[]> {
  const inputs = [
    "level: READ_ONLY",
    `permissions: { graphql: READ, endpoints: [{ endpointId: "${endpointId}", access: WRITE }] }`,
    "permissions: { allEndpoints: READ }",
  ];
  const tokens = inputs.map(async (input) => {
    const mutation = `mutation { createApiKey(input: { name: "seed", ${input} }) { token } }`;
    return (await api.query<{ createApiKey: Token }>(mutation)).createApiKey.token;
  });
  return await Promise.all(tokens);
}

/** Values that no answer may hold. */
async function plantSecrets(api: ManagementApi): Promise<readonly string[]> {
  const { joinTokenCreate } = await api.query<{ joinTokenCreate: Token }>(`mutation {
    joinTokenCreate { token }
    secretCreate(input: { name: "marker", value: "${PLANTED}-value" }) { id }
    saveRegistryAuth(input: { name: "seed", username: "${PLANTED}-user", password: "${PLANTED}-password" }) { id }
  }`);
  return [PLANTED, joinTokenCreate.token];
}

/** What a run makes by REST, in the order in which it can be removed. */
const NOUNS = ["endpoints", "templates", "networkvolumes", "containerregistryauth"];

type Named = { readonly id: string; readonly name: string };

/** Removes most of what the run has made, so that the edge's memory tells of the edge and not of the account. */
async function tidy({ baseUrl, apiKey }: LoneEdge): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}` };
  for (const noun of NOUNS) {
    const listed = (await (await fetch(`${baseUrl}/v1/${noun}`, { headers })).json()) as Named[];
    const extra = listed.filter(({ name }) => !name.startsWith("seed"));
    await Promise.all(
      extra.map(async ({ id }) => {
        const answer = await fetch(`${baseUrl}/v1/${noun}/${id}`, { method: "DELETE", headers });
        await answer.text(); // one that is used by what has stayed stays too
      }),
    );
  }
}

/** Resident memory of a process in megabytes. */
function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

test("no request brings the edge out of its form", { timeout: 60_000 + RUNS * 50 }, async ({ expect }) => {
  await using edge = await startLoneEdge();
  const api = managementApi(edge.baseUrl, edge.apiKey);
  const schema = buildClientSchema(await api.query<IntrospectionQuery>(getIntrospectionQuery()));
  const world = new World();
  for (let index = 0; index < 4; index += 1) {
    world.endpointIds.push(await createEndpoint(edge, { name: `seed ${index}`, workersMax: 1 }));
  }
  const keys = await plantKeys(api, world.endpointIds[0] ?? "");
  const secrets = [edge.apiKey, ...keys, ...(await plantSecrets(api))];
  const routes = await listRoutes(edge.baseUrl);
  const target: Target = { schema, routes, apiKeys: [edge.apiKey, ...keys], world };

  // What is made when somebody first asks for it, such as the page of the schema, is no growth.
  for (const { method, path } of routes) {
    if (method !== "GET" || /[*:]/.test(path)) continue;
    const once = { method, path, headers: { authorization: `Bearer ${edge.apiKey}` }, body: null };
    await perform(edge.baseUrl, once);
  }

  const failures: string[] = [];
  const tally = new Map<string, number>();
  const heap: number[] = [];
  const memoryMb: number[] = [];
  let next = FROM;
  const caller = async (end: number): Promise<void> => {
    while (next < end && failures.length < 10) {
      const index = next;
      next += 1;
      const request = writeRequest(new Chance(SEED + index), target);
      const outcome = await perform(edge.baseUrl, request);
      const failure = failureOf(request, outcome, secrets);
      if (failure !== undefined) failures.push(describe(index, failure, request, outcome));
      const kind = outcome.text.includes('"errors"')
        ? `${outcome.status} with errors`
        : String(outcome.status);
      tally.set(kind, (tally.get(kind) ?? 0) + 1);
      if (outcome.status === 200 && isJson(outcome.text)) world.learn(request.path, outcome.text);
    }
  };
  for (let part = 1; part <= PARTS + WARM_UP_PARTS; part += 1) {
    const end = FROM + Math.ceil((RUNS * part) / PARTS);
    await Promise.all(Array.from({ length: CALLERS }, () => caller(end)));
    await tidy(edge);
    if (part % (PARTS / 4) !== 0) continue;
    heap.push(await usedHeap(edge.inspectorPort, () => tidy(edge)));
    memoryMb.push(memoryOf(edge.pid()));
  }

  const summary = { seed: SEED, runs: next - FROM, answers: Object.fromEntries(tally), heap, memoryMb };
  console.info(`fuzz: ${JSON.stringify(summary)}`);
  expect(failures).toEqual([]);
  // A generator that is only ever refused proves little.
  expect((tally.get("200") ?? 0) / summary.runs).toBeGreaterThan(0.15);
  expect((heap[4] ?? 0) - (heap[1] ?? 0)).toBeLessThan(HEAP_GROWTH_MAX);
});

function describe(
  index: number,
  failure: string,
  { method, path, headers, body }: FuzzRequest,
  outcome: Answer,
): string {
  const sent = typeof body === "string" ? body : body === null ? "" : Buffer.from(body).toString("base64");
  return [
    `${failure}: FUZZ_SEED=${SEED} FUZZ_FROM=${index} FUZZ_RUNS=1`,
    `${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, authorization: "…" })}`,
    sent.slice(0, 1_500),
    `→ ${outcome.status} ${outcome.text.slice(0, 500)}`,
  ].join("\n");
}
