/**
 * The OpenAPI document is a contract: schemathesis makes requests of it, valid and invalid ones, and holds every answer
 * against it. There are objects of every noun, so that not every answer is a 404.
 *
 *   OPENAPI_EXAMPLES=100 npx vitest run --project e2e test/e2e/openapi-fuzz.test.ts   a longer search
 *   OPENAPI_SEED=…                                                                   other requests
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { onTestFinished, test } from "vitest";
import { startAccountHost } from "../support/account-host.ts";
import { openBoundedFront } from "../support/bounded-front.ts";
import { ensureClientVenv } from "../support/client-venv.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { createHelloEndpoint } from "../support/management-client.ts";

/** Requests for each operation, beside the document's own examples. */
const EXAMPLES = Number(process.env["OPENAPI_EXAMPLES"] ?? 3);
/** Beyond the budget of CI, the edges of all schemas as well. */
const PHASES = EXAMPLES > 8 ? "examples,coverage,fuzzing" : "examples,fuzzing";
const SEED = process.env["OPENAPI_SEED"] ?? "1";

const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
];

/** A longer search has three phases, of which the edges of all schemas take four minutes on two cores. */
const LIMIT_MS = EXAMPLES > 8 ? 3_600_000 : 300_000;

/** REST v1, REST v2 and the queue API. */
const PATHS = /^\/v[12]\/(?!openapi\.json)/;

/** Parts of requests that have the ids of objects; the rest are ids of nothing. */
const REAL = 0.8;

/** Operations that wait for the end of a job for as long as they are told. */
const WAITING = /\/(runsync|status|status-sync|stream)(\/|$)/;

/** Operations that answer with an event stream alone. */
const STREAMS = /\/workers\/\{workerId\}\/logs$/;

/** Ids by noun. The first of several is read alone; the others are changed and deleted, too. */
type Objects = Readonly<Record<string, readonly string[]>>;

/** The noun of the id that follows a segment of a path. Nouns that there are none of are absent. */
const NOUNS: Readonly<Record<string, string>> = {
  v2: "endpoint",
  serverless: "endpoint",
  endpoints: "endpoint",
  templates: "template",
  networkvolumes: "volume",
  "network-volumes": "volume",
  containerregistryauth: "registry",
  registries: "registry",
  hosts: "host",
  workers: "worker",
  pods: "worker",
  pod: "worker",
  status: "job",
  "status-sync": "ended job",
  stream: "ended job",
  cancel: "job",
  retry: "failed job",
  webhooks: "ended job",
  batch: "batch",
  requests: "job",
  gpus: "gpu",
  cpus: "cpu",
  datacenters: "data center",
};

type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> };

test("every answer is as the OpenAPI document says", { timeout: LIMIT_MS }, async ({ expect }) => {
  const folder = await mkdtemp(join(tmpdir(), "edgerun-openapi-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [account, python] = await Promise.all([startAccountHost("openapi", "process"), ensureClientVenv()]);
  onTestFinished(() => account.stop());
  const objects = await makeObjects(account);
  // Commands that are made at random run nowhere.
  await account.stop();

  // A read through it ends, also of the logs of a worker.
  await using front = await openBoundedFront(account.baseUrl);
  const address = `${account.baseUrl}/openapi.json`;
  const document = (await (await fetch(address)).json()) as Document;
  await writeFile(join(folder, "schemathesis.toml"), settingsOf(document, objects));
  const { all } = await execa(
    join(dirname(python), "st"),
    [
      ...["run", address, "--url", front.url, "--header", `Authorization: Bearer ${account.apiKey}`],
      ...["--include-path-regex", PATHS.source, "--phases", PHASES],
      ...["--max-examples", `${EXAMPLES}`, "--seed", SEED, "--continue-on-failure", "--no-color"],
    ],
    { cwd: folder, all: true },
  );
  console.info(all);
  expect(all).toMatch(/[1-9]\d* generated, \d+ passed/);
});

/** Makes objects of every noun; a host was there for a moment, so that a worker and an ended job are among them. */
async function makeObjects(target: EdgeAccess): Promise<Objects> {
  const endpointId = await createHelloEndpoint(target);
  const call = restApi(target);
  const queue = (method: string, path: string, body?: object) =>
    call(method, `/v2/${endpointId}/${path}`, body);
  const ended = await queue("POST", "runsync", { input: { name: "you" }, webhook: `${target.baseUrl}/` });
  const failed = await queue("POST", "runsync", { input: { fail: "on purpose" } });
  const { workers } = await call("GET", `/v2/serverless/${endpointId}/workers`);
  // Nobody waits for a worker.
  await call("PATCH", `/v1/endpoints/${endpointId}`, { workersMin: 0, workersMax: 0 });
  const three = async (
    make: (name: string) => Promise<{ readonly id: string }>,
  ): Promise<readonly string[]> =>
    await Promise.all(["one", "two", "three"].map(async (name) => (await make(name)).id));
  const templates = await three((name) =>
    call("POST", "/v1/templates", { name, imageName: "x", isServerless: true }),
  );
  const [templateId] = templates;
  const endpoints = await three((name) => call("POST", "/v1/endpoints", { name, templateId, workersMax: 0 }));
  return {
    endpoint: [endpointId, ...endpoints],
    template: templates,
    volume: await three((name) =>
      call("POST", "/v1/networkvolumes", { name, size: 10, dataCenterId: "EU-RO-1" }),
    ),
    registry: await three((name) =>
      call("POST", "/v1/containerregistryauth", { name, username: "u", password: "p" }),
    ),
    host: (await call("GET", "/v1/hosts")).map(({ id }: { id: string }) => id),
    worker: workers.map(({ id }: { id: string }) => id),
    job: [ended.id, ...(await three((name) => queue("POST", "run", { input: { name } })))],
    "ended job": [ended.id],
    "failed job": [failed.id],
    batch: await three((name) => queue("POST", "batch", { name, requests: [{ input: 1 }] })),
    gpu: ["NVIDIA GeForce RTX 4090", "ADA_24"],
    cpu: ["cpu3c", "cpu5g"],
    "data center": ["EU-RO-1", "US-KS-2"],
  };
}

/** What schemathesis reads: where the ids of objects go, and which answers beyond 4xx are no crash. */
function settingsOf({ paths }: Document, objects: Objects): string {
  const operations = Object.entries(paths)
    .filter(([path]) => PATHS.test(path))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => operationSettings(path, method, objects)),
    );
  const sets = Object.entries(objects).flatMap(([noun, ids]) => [
    ...[`[dictionaries."${noun} that stays"]`, `values = ${JSON.stringify(ids.slice(0, 1))}`],
    ...[
      `[dictionaries."${noun} that goes"]`,
      `values = ${JSON.stringify(ids.slice(1).length > 0 ? ids.slice(1) : ids)}`,
    ],
  ]);
  return [
    "warnings.enabled = false",
    "cache.enabled = false",
    "request-timeout = 60",
    "checks.enabled = false",
    ...CHECKS.map((check) => `checks.${check}.enabled = true`),
    'checks.not_a_server_error.expected-statuses = ["2xx", "4xx", 501, 503]',
    ...sets,
    ...operations,
  ].join("\n");
}

function operationSettings(path: string, method: string, objects: Objects): string {
  const parameters = [...path.matchAll(/([\w-]+)\/\{(\w+)\}/g)].flatMap(([, segment = "", name = ""]) => {
    const noun = NOUNS[segment] ?? "";
    // What is deleted or changed would be missing for the others.
    const kind = method === "get" || segment === "v2" ? "that stays" : "that goes";
    return noun in objects
      ? [`"path.${name}" = { dictionary = "${noun} ${kind}", probability = ${REAL} }`]
      : [];
  });
  // It reads the schema of a whole stream as that of each event.
  const unchecked = STREAMS.test(path) ? ["checks.response_schema_conformance.enabled = false"] : [];
  const wait = WAITING.test(path) ? ['"query.wait" = "1000"'] : [];
  return [
    "[[operations]]",
    `include-name = "${method.toUpperCase()} ${path}"`,
    ...unchecked,
    "[operations.parameters]",
    ...parameters,
    ...wait,
  ].join("\n");
}

// oxlint-disable-next-line typescript/no-explicit-any -- made and read once, here
type Api = (method: string, path: string, body?: unknown) => Promise<any>;

function restApi({ baseUrl, apiKey }: EdgeAccess): Api {
  const headers = { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" };
  return async (method, path, body) => {
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(baseUrl + path, init);
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return await response.json();
  };
}
