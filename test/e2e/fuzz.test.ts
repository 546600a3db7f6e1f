/**
 * Random requests at a real edge. Whatever comes, the answer is JSON with a documented status; nothing breaks,
 * nothing is given away.
 *
 *   FUZZ_RUNS=20000 npx vitest run --project e2e test/e2e/fuzz.test.ts
 *   FUZZ_SEED=… FUZZ_FROM=…   the same requests again, from the one that a failure names
 */
import { readFileSync } from "node:fs";
import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from "graphql";
import { test } from "vitest";
import { managementApi, type ManagementApi } from "../../scripts/start/management-api.ts";
import { Chance } from "../support/fuzz/chance.ts";
import { writeRequest, type FuzzRequest, type Route, type Target } from "../support/fuzz/requests.ts";
import { World } from "../support/fuzz/world.ts";
import { startLoneEdge } from "../support/lone-edge.ts";
import { createEndpoint } from "../support/management-client.ts";

const RUNS = Number(process.env["FUZZ_RUNS"] ?? 2_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const FROM = Number(process.env["FUZZ_FROM"] ?? 0);
const CALLERS = 12;
const TIDY_EVERY = 1_000;
/** A call that waits for a worker may; there is none. */
const PATIENCE_MS = 1_500;
/** Beyond what any machine needs. */
const ANSWER_LIMIT_MS = 30_000;

const STATUSES = [200, 201, 202, 204, 400, 401, 404, 405, 409, 413, 429];
const STACK = /\bat \S.*\.[cm]?[jt]s:\d+|Error: .*\n\s+at /;

/** The routes of a part of the edge. Imported by name, for its types are those of another runtime. */
async function routesOf(base: string, module: string, name: string): Promise<readonly Route[]> {
  const part = (await import(`../../src/gateway/${module}/routes.ts`)) as Record<
    string,
    () => { routes: readonly Route[] }
  >;
  const routes = part[name]?.().routes ?? [];
  return routes
    .filter(({ path }) => path !== "/*")
    .map(({ method, path }) => ({ method, path: base + path }));
}

type Outcome = { readonly status: number | "held"; readonly text: string; readonly type: string };

/** Says whether a call may be held until a worker comes. */
function isWaiting({ path }: FuzzRequest): boolean {
  return /runsync|status|stream/.test(path);
}

async function carryOut(baseUrl: string, request: FuzzRequest): Promise<Outcome> {
  const { method, path, headers, body } = request;
  const signal = AbortSignal.timeout(isWaiting(request) ? PATIENCE_MS : ANSWER_LIMIT_MS);
  try {
    const response = await fetch(baseUrl + path, { method, headers, body, signal, redirect: "manual" });
    const text = await response.text();
    return { status: response.status, text, type: response.headers.get("content-type") ?? "" };
  } catch (error) {
    if (signal.aborted) return { status: "held", text: "", type: "" };
    throw error;
  }
}

/** What is wrong with an answer, if anything is. */
function faultOf(request: FuzzRequest, outcome: Outcome, secrets: readonly string[]): string | undefined {
  const { status, text } = outcome;
  if (status === "held") return isWaiting(request) ? undefined : "no answer";
  if (!STATUSES.includes(status)) return `status ${status}`;
  if (STACK.test(text)) return "a stack";
  if (secrets.some((secret) => text.includes(secret))) return "a secret";
  if (/"code":"internal"/i.test(text)) return "an internal error";
  return request.method === "HEAD" || status === 204 ? undefined : faultOfForm(outcome);
}

function faultOfForm({ type, text }: Outcome): string | undefined {
  if (type.startsWith("text/event-stream")) return undefined;
  if (!type.startsWith("application/json")) return `content type ${type}`;
  return isJson(text) ? undefined : "no JSON";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Values that no answer may hold. */
async function plantSecrets(api: ManagementApi, fields: readonly string[]): Promise<readonly string[]> {
  const secrets: string[] = ["planted-secret-value", "planted-registry-password"];
  const { joinTokenCreate } = await api.query<{ joinTokenCreate: { token: string } }>(
    "mutation { joinTokenCreate { token } }",
  );
  if (fields.includes("secretCreate")) {
    await api.query(`mutation { secretCreate(input: { name: "marker", value: "${secrets[0]}" }) { id } }`);
  }
  if (fields.includes("saveRegistryAuth")) {
    await api.query(
      `mutation { saveRegistryAuth(input: { name: "r", username: "u", password: "${secrets[1]}" }) { id } }`,
    );
  }
  return [...secrets, joinTokenCreate.token];
}

type Listed = { myself: { endpoints: { id: string; name: string }[]; podTemplates: { name: string }[] } };

/** Removes most of what the run has made, so that the edge's memory tells of the edge and not of the account. */
async function tidy(api: ManagementApi): Promise<void> {
  const { myself } = await api.query<Listed>("{ myself { endpoints { id name } podTemplates { name } } }");
  const extra = myself.endpoints.filter(({ name }) => !name.startsWith("seed "));
  const mutations = [
    ...extra.map(({ id }) => `saveEndpoint(input: { id: "${id}", workersMin: 0, workersMax: 0 }) { id }`),
    ...extra.map(({ id }) => `deleteEndpoint(id: "${id}")`),
    ...myself.podTemplates
      .filter(({ name }) => !name.startsWith("seed "))
      .map(({ name }) => `deleteTemplate(templateName: ${JSON.stringify(name)})`),
  ];
  for (const mutation of mutations) await api.query(`mutation { ${mutation} }`).catch(() => {}); // another may be first
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
  const secrets = [
    edge.apiKey,
    ...(await plantSecrets(api, Object.keys(schema.getMutationType()?.getFields() ?? {}))),
  ];
  const world = new World();
  for (let index = 0; index < 4; index += 1) {
    world.endpointIds.push(await createEndpoint(edge, { name: `seed ${index}`, workersMax: 1 }));
  }
  const routes = [
    ...(await routesOf("/v2", "v2", "queueRoutes")),
    ...(await routesOf("/agent", "agent", "agentRoutes")),
  ];
  const target: Target = { schema, routes, apiKey: edge.apiKey, world };

  const faults: string[] = [];
  const tally = new Map<string, number>();
  const memory: number[] = [];
  let next = FROM;
  const caller = async (): Promise<void> => {
    while (next < FROM + RUNS && faults.length < 10) {
      const index = next;
      next += 1;
      if ((index - FROM) % (RUNS / 4) === 0) memory.push(memoryOf(edge.pid()));
      if (index % TIDY_EVERY === 0) await tidy(api);
      const request = writeRequest(new Chance(SEED + index), target);
      const outcome = await carryOut(edge.baseUrl, request);
      const fault = faultOf(request, outcome, secrets);
      if (fault !== undefined) faults.push(describe(index, fault, request, outcome));
      const kind = outcome.text.includes('"errors"')
        ? `${outcome.status} with errors`
        : String(outcome.status);
      tally.set(kind, (tally.get(kind) ?? 0) + 1);
      if (outcome.status === 200) world.learn(request.path, outcome.text);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  memory.push(memoryOf(edge.pid()));

  const summary = { seed: SEED, runs: next - FROM, answers: Object.fromEntries(tally), memoryMb: memory };
  console.info(`fuzz: ${JSON.stringify(summary)}`);
  expect(faults).toEqual([]);
  // A generator that is only ever refused proves little.
  expect((tally.get("200") ?? 0) / RUNS).toBeGreaterThan(0.15);
  if (RUNS >= 10_000) expect(memory[4]).toBeLessThan((memory[1] ?? 0) * 1.5);
});

function describe(
  index: number,
  fault: string,
  { method, path, headers, body }: FuzzRequest,
  outcome: Outcome,
): string {
  const sent = typeof body === "string" ? body : body === null ? "" : Buffer.from(body).toString("base64");
  return [
    `${fault}: FUZZ_SEED=${SEED} FUZZ_FROM=${index} FUZZ_RUNS=1`,
    `${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, authorization: "…" })}`,
    sent.slice(0, 1_500),
    `→ ${outcome.status} ${outcome.text.slice(0, 500)}`,
  ].join("\n");
}
