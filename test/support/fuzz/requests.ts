/** Random HTTP requests around random bodies: paths, methods, headers, keys, and bytes that broke on the way. */
import type { GraphQLSchema } from "graphql";
import type { Chance } from "./chance.ts";
import { DocumentWriter } from "./documents.ts";
import { writeJson, type JsonSchema } from "./json.ts";
import { HOSTILE_JSON, HOSTILE_STRINGS, type World } from "./world.ts";

export type FuzzRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
};

export type Route = {
  readonly method: string;
  readonly path: string;
  /** What its body is documented to be. */
  readonly bodySchema?: JsonSchema;
};

export type Target = {
  readonly schema: GraphQLSchema;
  readonly routes: readonly Route[];
  /** The first may do everything, the others less. */
  readonly apiKeys: readonly [string, ...string[]];
  readonly world: World;
};

const METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"];
const CONTENT_TYPES = [
  "application/json; charset=utf-8",
  "application/json; charset=utf-16",
  "text/plain",
  "multipart/form-data; boundary=x",
  "application/x-www-form-urlencoded",
  "application/graphql",
  "x",
];
const HEADERS: readonly (readonly [string, string])[] = [
  ["accept", "text/event-stream"],
  ["accept", "text/html"],
  ["accept-encoding", "br"],
  ["content-encoding", "gzip"],
  ["last-event-id", "-1"],
  ["last-event-id", "99999999999999999999"],
  ["origin", "https://example.com"],
  ["x-forwarded-for", "127.0.0.1"],
  ["x-http-method-override", "DELETE"],
  ["idempotency-key", "k"],
  ["idempotency-key", "k".repeat(300)],
  ["range", "bytes=0-"],
  ["if-none-match", "*"],
];

/** One request. The same chance and world give the same request. */
export function writeRequest(chance: Chance, target: Target): FuzzRequest {
  const isGraphql = chance.is(0.65);
  const route = isGraphql ? { method: "POST", path: "/graphql" } : chance.pick(target.routes);
  const method = chance.is(0.03)
    ? chance.pick(METHODS)
    : route.method === "ALL"
      ? chance.pick(METHODS)
      : route.method;
  const path = chance.is(0.01) ? `/${randomSegment(chance)}` : fillPath(chance, target.world, route.path);
  const text = isGraphql
    ? new DocumentWriter(target.schema, chance, target.world).body()
    : restBody(chance, route, target.world);
  const hasBody = !["GET", "HEAD"].includes(method) && !chance.is(0.02);
  const credential = credentialOf(chance, chance.is(0.9) ? target.apiKeys[0] : chance.pick(target.apiKeys));
  return {
    method,
    path: path + queryOf(chance, route.path, credential.query),
    headers: { ...headersOf(chance), ...credential.headers },
    body: hasBody ? breakBody(chance, text) : null,
  };
}

function fillPath(chance: Chance, world: World, pattern: string): string {
  return pattern
    .replaceAll(":endpointId", () =>
      chance.is(0.9) ? chance.pick(world.endpointIds) : randomSegment(chance),
    )
    .replaceAll(/:(\w+)/g, (_all, name: string) =>
      chance.is(0.8) ? encodeURIComponent(world.id(chance, name)) : randomSegment(chance),
    )
    .replaceAll("*", () => randomSegment(chance));
}

function restBody(chance: Chance, { path, bodySchema }: Route, world: World): string {
  if (chance.is(0.2)) return chance.pick(HOSTILE_JSON);
  if (bodySchema === undefined || path.startsWith("/v2/")) return jobBody(chance);
  return writeJson(chance, bodySchema, {
    world,
    place: path,
    name: "",
    wrongness: chance.pick([0, 0, 0.05]),
  });
}

function randomSegment(chance: Chance): string {
  const text = chance.is(0.3) ? crypto.randomUUID() : chance.pick(HOSTILE_STRINGS).slice(0, 300);
  return encodeURIComponent(text.toWellFormed()) || "x";
}

function queryOf(chance: Chance, path: string, credential: string): string {
  const parameters = credential === "" ? [] : [credential];
  // Long waits would only make the run long.
  if (/runsync|status|stream/.test(path)) parameters.push("wait=1000");
  if (chance.is(0.05)) {
    const name = chance.pick([
      "wait",
      "offset",
      "limit",
      "status",
      "api_key[]",
      "__proto__",
      "input",
      "includeTemplate",
      "includeWorkers",
    ]);
    const value = chance.pick(["1000", "-1", "0", "1e9", "NaN", ...HOSTILE_STRINGS.slice(0, 12)]);
    parameters.push(`${name}=${encodeURIComponent(value.toWellFormed())}`);
  }
  return parameters.length === 0 ? "" : `?${parameters.join("&")}`;
}

function credentialOf(chance: Chance, apiKey: string): { headers: Record<string, string>; query: string } {
  if (chance.is(0.75)) return { headers: { authorization: `Bearer ${apiKey}` }, query: "" };
  if (chance.is(0.6)) return { headers: {}, query: `api_key=${apiKey}` };
  const wrong = chance.pick([
    "",
    "wrong",
    "er_0",
    "erh_0",
    "erj_0",
    "Basic eDp5",
    `Bearer ${apiKey}x`,
    "x".repeat(4_000),
  ]);
  return chance.is(0.5)
    ? { headers: { authorization: wrong }, query: "" }
    : { headers: {}, query: `API_KEY=${apiKey}&api_key=${encodeURIComponent(wrong)}&api_key=x` };
}

function headersOf(chance: Chance): Record<string, string> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (chance.is(0.1)) headers["content-type"] = chance.pick(CONTENT_TYPES);
  if (chance.is(0.1)) {
    const [name, value] = chance.pick(HEADERS);
    headers[name] = value;
  }
  return headers;
}

function jobBody(chance: Chance): string {
  const member = (name: string, values: readonly string[]) =>
    chance.is(0.15) ? [`"${name}":${chance.is(0.7) ? chance.pick(values) : chance.pick(HOSTILE_JSON)}`] : [];
  const members = [
    `"input":${chance.is(0.7) ? '{"prompt":"x"}' : chance.pick(HOSTILE_JSON)}`,
    ...member("webhook", [
      '"http://127.0.0.1:9/"',
      '"https://example.invalid/x"',
      '"ftp://x"',
      '"http://[::1]/"',
    ]),
    ...member("policy", ['{"ttl":10000}', '{"executionTimeout":5000,"lowPriority":true}', '{"ttl":1e400}']),
    ...member("s3Config", ['{"accessId":"a","accessSecret":"b","bucketName":"c","endpointUrl":"d"}']),
    ...member("requests", ['[{"input":1},{"input":{}}]', "[]", "[1]"]),
    ...member("name", ['"night"', `"${"n".repeat(500)}"`]),
    ...member("__proto__", ['{"polluted":1}']),
  ];
  return `{${chance.is(0.1) ? members.toReversed().join(",") : members.join(",")}}`;
}

/** Now and then a body that broke: cut, doubled, with other bytes in it, or nothing but bytes. */
function breakBody(chance: Chance, text: string): string | Uint8Array<ArrayBuffer> {
  if (!chance.is(0.08)) return text;
  const bytes = new TextEncoder().encode(text);
  const at = chance.below(bytes.length);
  switch (chance.below(5)) {
    case 0:
      return bytes.slice(0, at);
    case 1:
      return text + text;
    case 2:
      return Uint8Array.from({ length: chance.below(500) }, () => chance.below(256));
    case 3:
      return `[${text}]`;
    default:
      bytes[at] = chance.below(256);
      return bytes;
  }
}
