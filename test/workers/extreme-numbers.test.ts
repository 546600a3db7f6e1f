/**
 * No number that anybody sends makes the edge fail, or work for long: each numeric parameter and member that the
 * OpenAPI document and the GraphQL schema name is given extreme values.
 */
import { env, exports } from "cloudflare:workers";
import {
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
  isLeafType,
  type GraphQLInputType,
  type GraphQLObjectType,
} from "graphql";
import { describe, test, type ExpectStatic } from "vitest";
import { managementSchema } from "../../src/graphql/schema.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { DOCUMENT } from "./documented-call.ts";
import { EdgeClient } from "./edge-client.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- documents of any shape are walked

const NUMBERS = [0, -1, 1.5, 2 ** 31, 2 ** 53, 8.64e15, 8.64e15 + 2, 1e20, 1e308, -1e308];
const TEXTS = [
  ...NUMBERS.map(String),
  String(BigInt(2) ** BigInt(53)),
  "Infinity",
  "-Infinity",
  "NaN",
  "9".repeat(400),
  `0.${"0".repeat(400)}1`,
  "+275760-09-13T00:00:00Z",
  "-271821-04-20T00:00:00Z",
  "9999-12-31T23:59:59Z",
  "+999999-01-01T00:00:00Z",
];
/** Each place gets one in so many values, the next place others; all of them in a run with more MODEL_RUNS. */
const ONE_IN = Number(env.MODEL_RUNS) > 50 ? 1 : 3;
let places = 0;

function someFor<T>(values: readonly T[]): readonly T[] {
  places += 1;
  return values.filter((_, index) => (index + places) % ONE_IN === 0);
}

/**
 * Answers take milliseconds, and some a second by design; a machine that is busy needs no more than this, and what
 * loops over such a number takes longer.
 */
const LIMIT_MS = 5_000;

/** Calls, drops the body, and holds status and time against what a caller's number may cause. */
async function tried(expect: ExpectStatic, method: string, path: string, body?: unknown, key = api.key) {
  const startedAt = performance.now();
  const response = await exports.default.fetch(`http://edge${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}` },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    redirect: "manual",
  });
  const isEvents = response.headers.get("Content-Type")?.startsWith("text/event-stream") === true;
  const text = isEvents ? await response.body?.cancel() : await response.text();
  const what = `${method} ${path} ${JSON.stringify(body)?.slice(0, 300) ?? ""}: ${text?.slice(0, 200) ?? ""}`;
  expect([500, 502, 504, 524], what).not.toContain(response.status);
  expect(text ?? "", what).not.toContain('"INTERNAL"');
  expect(performance.now() - startedAt, what).toBeLessThan(LIMIT_MS);
}

// The OpenAPI document

type Parameter = { readonly name: string; readonly in: string; readonly schema: Json };

const OPERATIONS: readonly { method: string; path: string; operation: Json }[] = Object.entries(
  DOCUMENT.paths,
).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    operation,
  })),
);

/** Numbers of paths; all other parts of them are names. */
const PATH_NUMBERS = ["attempt", "number"];

function resolved(schema: Json): Json {
  const name = schema?.$ref?.split("/").at(-1);
  return name === undefined ? schema : resolved((DOCUMENT.components as Json).schemas[name]);
}

type Step = string | 0;

/** Where numbers and times stand in what a schema describes. */
function numericPaths(given: Json, path: readonly Step[] = []): (readonly Step[])[] {
  const schema = resolved(given) ?? {};
  const types = [schema.type].flat();
  const isNumeric = types.includes("number") || types.includes("integer") || schema.format === "date-time";
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  if (path.length > 8) return [];
  return [
    ...(isNumeric ? [path] : []),
    ...choices.flatMap((choice: Json) => numericPaths(choice, path)),
    ...(schema.items ? numericPaths(schema.items, [...path, 0]) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
      numericPaths(member, [...path, name]),
    ),
  ];
}

/** The value with another one at a place within it; what is not there on the way is made. */
function withAt(value: Json, [step, ...rest]: readonly Step[], member: unknown): Json {
  if (step === undefined) return member;
  if (step === 0) return [withAt(value?.[0], rest, member), ...(Array.isArray(value) ? value.slice(1) : [])];
  return { ...value, [step]: withAt(value?.[step], rest, member) };
}

/** Bodies that are accepted but for the number. */
async function bodies(): Promise<Readonly<Record<string, Json>>> {
  const { body: template } = await call("POST", "/v1/templates", {
    name: `t-${crypto.randomUUID()}`,
    imageName: "worker:1",
    isServerless: true,
  });
  const worker = {
    workerId: "w",
    endpointId: "e",
    revision: 1,
    state: "ready",
    failing: { times: 1, ago: 1 },
  };
  const sync = {
    agentVersion: "test",
    inventory: INVENTORY,
    workers: [worker],
    appliedRevision: 0,
    holdMs: 0,
  };
  const exchange = { session: "s", turn: 1, openTurns: [], held: [], reports: [], slots: [], holdMs: 0 };
  const name = `n-${crypto.randomUUID()}`;
  return {
    "POST /v2/{endpointId}/run": { input: 1 },
    "POST /v2/{endpointId}/runsync": { input: 1 },
    "POST /v2/{endpointId}/batch": [{ input: 1 }],
    "POST /v1/endpoints": { templateId: template["id"] },
    "POST /v1/templates": { name, imageName: "x", isServerless: true },
    "POST /v1/networkvolumes": { name, size: 10, dataCenterId: "EU-RO-1" },
    "POST /agent/v1/join": { joinToken: "erj_x", name: "h", agentVersion: "1", inventory: INVENTORY },
    "POST /agent/v1/sync": {
      ...sync,
      telemetry: { ago: 1, gpus: [{ index: 0 }] },
    },
    "POST /agent/v1/endpoints/{endpointId}/exchange": { ...exchange, slots: [{ workerId: "w", free: 1 }] },
  };
}

/** An endpoint with a job that has ended, so that nobody waits for it. */
async function endedJob(): Promise<{ endpointId: string; jobId: string }> {
  const endpointId = await createEndpoint("workersMax: 0");
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  await call("POST", `/v2/${endpointId}/cancel/${String(body["id"])}`);
  return { endpointId, jobId: String(body["id"]) };
}

describe("the OpenAPI document's parameters", () => {
  test("in addresses", async ({ expect }) => {
    await signInAsNewAccount();
    const agent = await ScriptedAgent.join(api);
    const known: Record<string, string> = await endedJob();
    let count = 0;
    for (const { method, path, operation } of OPERATIONS) {
      const parameters = (operation.parameters ?? []) as Parameter[];
      const asked = parameters.filter(
        ({ name, in: place }) => place === "query" || PATH_NUMBERS.includes(name),
      );
      for (const parameter of asked) {
        for (const [index, value] of someFor(TEXTS).entries()) {
          // So few requests may list jobs within a window.
          if (index % 8 === 0 && path.endsWith("/requests")) Object.assign(known, await endedJob());
          const address = path.replace(/\{(\w+)\}/g, (_, name: string) =>
            name === parameter.name ? encodeURIComponent(value) : (known[name] ?? "x"),
          );
          const query = parameter.in === "query" ? `?${parameter.name}=${encodeURIComponent(value)}` : "";
          const body = method === "GET" || method === "DELETE" ? undefined : { input: 1 };
          const key = path.startsWith("/agent/") ? agent.token : api.key;
          await tried(expect, method, address + query, body, key);
          count += 1;
        }
      }
    }
    expect(count * ONE_IN).toBeGreaterThan(400);
  });

  test("in bodies", async ({ expect }) => {
    await signInAsNewAccount();
    const agent = await ScriptedAgent.join(api);
    const accepted = await bodies();
    const { endpointId, jobId } = await endedJob();
    let count = 0;
    for (const { method, path, operation } of OPERATIONS) {
      const schema = operation.requestBody?.content?.["application/json"]?.schema;
      const base = accepted[`${method} ${path}`] ?? {};
      for (const place of numericPaths(schema)) {
        for (const value of someFor([...NUMBERS, ...TEXTS.slice(-4)])) {
          const address = path
            .replace("{endpointId}", endpointId)
            .replace("{jobId}", jobId)
            .replace(/\{\w+\}/g, "x");
          const key = path.startsWith("/agent/") ? agent.token : api.key;
          const wait = path.endsWith("/runsync") ? "?wait=1000" : "";
          await tried(expect, method, address + wait, withAt(base, place, value), key);
          count += 1;
        }
        if (path.startsWith("/agent/")) await tried(expect, "GET", "/v1/hosts");
      }
    }
    expect(count * ONE_IN).toBeGreaterThan(400);
  });
});

// The GraphQL schema

function sampleOf(type: GraphQLInputType): Json {
  if (isNonNullType(type)) return sampleOf(type.ofType);
  if (isListType(type)) return [];
  if (isInputObjectType(type)) {
    const required = Object.values(type.getFields()).filter(isRequiredInputField);
    return Object.fromEntries(required.map((field) => [field.name, sampleOf(field.type)]));
  }
  if (["Int", "Float"].includes(type.name)) return 1;
  if ("getValues" in type) return type.getValues()[0]?.name;
  return type.name === "Boolean" ? true : "x";
}

function numericPlaces(
  type: GraphQLInputType,
  path: readonly Step[],
  around: readonly string[] = [],
): (readonly Step[])[] {
  if (isNonNullType(type)) return numericPlaces(type.ofType, path, around);
  if (isListType(type)) return numericPlaces(type.ofType, [...path, 0], around);
  if (isInputObjectType(type)) {
    if (around.includes(type.name)) return [];
    return Object.values(type.getFields()).flatMap((field) =>
      numericPlaces(field.type, [...path, field.name], [...around, type.name]),
    );
  }
  const last = path.findLast((step) => step !== 0) ?? "";
  const isTime = /^(from|to|since|until|after|before|cursor)$|(At|Seconds)$/.test(String(last));
  return ["Int", "Float", "DateTime"].includes(type.name) || isTime ? [path] : [];
}

test("the GraphQL schema's arguments", async ({ expect }) => {
  await signInAsNewAccount();
  let count = 0;
  const roots = [managementSchema.getQueryType(), managementSchema.getMutationType()] as GraphQLObjectType[];
  const user = managementSchema.getType("User") as GraphQLObjectType;
  for (const root of [...roots, user]) {
    for (const field of Object.values(root.getFields())) {
      const required = field.args.filter(isRequiredArgument);
      const base = Object.fromEntries(required.map((argument) => [argument.name, sampleOf(argument.type)]));
      const declared = field.args.map(({ name, type }) => `$${name}: ${String(type)}`).join(", ");
      const passed = field.args.map(({ name }) => `${name}: $${name}`).join(", ");
      const selection = isLeafType(getNamedType(field.type)) ? "" : "{ __typename }";
      const asked = `${field.name}(${passed}) ${selection}`;
      const operation = root === roots[1] ? "mutation" : "query";
      const query = `${operation} (${declared}) { ${root === user ? `myself { ${asked} }` : asked} }`;
      for (const place of field.args.flatMap(({ name, type }) => numericPlaces(type, [name]))) {
        const full = withAt(base, place, null);
        for (const value of someFor([...NUMBERS, ...TEXTS.slice(-4), "9".repeat(400)])) {
          await tried(expect, "POST", "/graphql", {
            query,
            variables: withAt(filled(field, full), place, value),
          });
          count += 1;
        }
      }
    }
  }
  expect(count * ONE_IN).toBeGreaterThan(400);

  /** Required members of the objects that stand on the way. */
  function filled(
    field: { args: readonly { name: string; type: GraphQLInputType }[] },
    variables: Json,
  ): Json {
    const samples = field.args
      .filter(({ name }) => variables[name] !== undefined && variables[name] !== null)
      .map(({ name, type }) => [name, { ...sampleOf(type), ...variables[name] }]);
    return { ...variables, ...Object.fromEntries(samples.filter(([, value]) => typeof value === "object")) };
  }
});

test("times of an agent's log lines", async ({ expect }) => {
  await signInAsNewAccount();
  const endpointId = await createEndpoint("workersMax: 0");
  const agent = await ScriptedAgent.join(api);
  for (const seq of [1, 2 ** 31, 2 ** 53 - 1]) {
    for (const now of [0, 1, 2 ** 31, 2 ** 53 - 60_000]) {
      const lines = [{ seq, source: "system" as const, line: "x" }];
      await agent.sendLogs([{ endpointId, workerId: "w", lines }], { aheadMs: now - Date.now() });
      await tried(expect, "GET", `/v2/${endpointId}/logs?until=${seq}`);
    }
  }
});
