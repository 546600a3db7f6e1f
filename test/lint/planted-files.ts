/** Files that break one rule each, and files that look like it but are allowed. */

export type PlantedFile = {
  readonly path: string;
  readonly source: string;
  /** The rule that must report the file; undefined when nothing may. */
  readonly rule: string | undefined;
};

const RESTRICTED = "eslint(no-restricted-imports)";
const LAYERS = "edgerun(layers)";

function imports(path: string, from: string): PlantedFile {
  const rule = from.startsWith(".") ? LAYERS : RESTRICTED;
  return { path, source: `import { thing } from "${from}";\nexport const copy = thing;\n`, rule };
}

function mayImport(path: string, from: string): PlantedFile {
  return { ...imports(path, from), rule: undefined };
}

function importsType(path: string, from: string): PlantedFile {
  return { ...mayImportType(path, from), rule: LAYERS };
}

function mayImportType(path: string, from: string): PlantedFile {
  const source = `import type { Thing } from "${from}";\nexport type Copy = Thing;\n`;
  return { path, source, rule: undefined };
}

function loads(path: string, from: string): PlantedFile {
  return { ...mayLoad(path, from), rule: LAYERS };
}

function mayLoad(path: string, from: string): PlantedFile {
  const source = `export const load = async (): Promise<unknown> => await import("${from}");\n`;
  return { path, source, rule: undefined };
}

function breaks(rule: string, path: string, source: string): PlantedFile {
  return { path, source, rule };
}

const FORBIDDEN_IMPORTS: readonly PlantedFile[] = [
  imports("src/contract/imports-package.ts", "hono"),
  imports("src/contract/imports-domain.ts", "../domain/thing.ts"),
  imports("src/json/imports-domain.ts", "../domain/thing.ts"),
  imports("src/link/imports-endpoint.ts", "../endpoint/thing.ts"),
  imports("src/net/imports-package.ts", "hono"),
  imports("src/domain/imports-package.ts", "zod"),
  imports("src/domain/imports-durable.ts", "../durable/thing.ts"),
  imports("src/domain/imports-db.ts", "../db/thing.ts"),
  imports("src/domain/imports-node.ts", "node:crypto"),
  imports("src/durable/imports-endpoint.ts", "../endpoint/thing.ts"),
  imports("src/durable/imports-package.ts", "hono"),
  imports("src/endpoint/imports-routes.ts", "hono"),
  imports("src/endpoint/imports-d1.ts", "drizzle-orm/d1"),
  imports("src/endpoint/imports-db.ts", "../db/thing.ts"),
  imports("src/endpoint/imports-gateway.ts", "../gateway/thing.ts"),
  imports("src/endpoint/imports-fleet.ts", "../fleet/thing.ts"),
  imports("src/endpoint/facts/imports-queue.ts", "../queue/thing.ts"),
  imports("src/endpoint/queue/imports-streams.ts", "../streams/thing.ts"),
  imports("src/endpoint/scaling/imports-load-balancing.ts", "../load-balancing/thing.ts"),
  imports("src/endpoint/webhooks/imports-composition.ts", "../composition.ts"),
  imports("src/fleet/imports-graphql.ts", "../graphql/thing.ts"),
  imports("src/fleet/imports-endpoint.ts", "../endpoint/thing.ts"),
  imports("src/db/imports-auth.ts", "../auth/thing.ts"),
  imports("src/db/imports-gateway.ts", "../gateway/thing.ts"),
  imports("src/auth/imports-gateway.ts", "../gateway/thing.ts"),
  imports("src/auth/imports-endpoint.ts", "../endpoint/thing.ts"),
  imports("src/management/imports-graphql.ts", "../graphql/thing.ts"),
  imports("src/management/keys/imports-gateway.ts", "../../gateway/thing.ts"),
  imports("src/management/imports-routes.ts", "hono"),
  imports("src/maintenance/imports-gateway.ts", "../gateway/thing.ts"),
  imports("src/fleet/imports-management.ts", "../management/thing.ts"),
  imports("src/gateway/imports-graphql.ts", "../graphql/thing.ts"),
  imports("src/gateway/imports-db.ts", "../db/thing.ts"),
  importsType("src/gateway/rest/imports-db-type.ts", "../../db/thing.ts"),
  imports("src/gateway/queue/imports-graphql.ts", "../../graphql/thing.ts"),
  imports("src/gateway/queue/imports-object.ts", "../../endpoint/endpoint-object.ts"),
  imports("src/graphql/imports-gateway.ts", "../gateway/thing.ts"),
  imports("src/graphql/imports-db.ts", "../db/thing.ts"),
  importsType("src/graphql/endpoints/imports-db-type.ts", "../../db/thing.ts"),
  imports("src/graphql/endpoints/imports-object.ts", "../../fleet/fleet-object.ts"),
  imports("node-agent/imports-domain.ts", "../src/domain/thing.ts"),
  imports("node-agent/edge/imports-domain.ts", "../../src/domain/thing.ts"),
  imports("node-agent/edge/imports-docker.ts", "dockerode"),
  imports("node-agent/worker/imports-processes.ts", "node:child_process"),
  imports("node-agent/runtime/imports-edge.ts", "../../src/endpoint/thing.ts"),
  imports("node-agent/core/imports-edge.ts", "../edge/thing.ts"),
  imports("node-agent/edge/imports-journal.ts", "../journal/thing.ts"),
  imports("node-agent/journal/imports-worker.ts", "../worker/thing.ts"),
  imports("node-agent/journal/imports-exchange.ts", "../exchange/thing.ts"),
  imports("node-agent/worker/imports-exchange.ts", "../exchange/thing.ts"),
  imports("node-agent/worker/lifecycle/imports-queue.ts", "../queue/thing.ts"),
  imports("node-agent/runtime/docker/imports-worker.ts", "../../worker/thing.ts"),
  imports("node-agent/runtime/images/imports-docker.ts", "../docker/thing.ts"),
  imports("node-agent/artifacts/imports-runtime.ts", "../runtime/interface/thing.ts"),
  imports("node-agent/logs/imports-worker.ts", "../worker/thing.ts"),
  imports("node-agent/link/imports-worker.ts", "../worker/thing.ts"),
  imports("node-agent/doctor/imports-commands.ts", "../commands/thing.ts"),
  imports("cli/imports-gateway.ts", "../src/gateway/thing.ts"),
  imports("cli/imports-docker.ts", "dockerode"),
  imports("cli/deploy/imports-agent.ts", "../../node-agent/thing.ts"),
  loads("cli/deploy/loads-preview.ts", "../preview/thing.ts"),
  loads("cli/commands/loads-server.ts", "../server/thing.ts"),
  imports("cli/service/imports-configuration.ts", "../configuration/thing.ts"),
  imports("cli/server/imports-deploy.ts", "../deploy/thing.ts"),
  imports("cli/build/imports-dev.ts", "../dev/thing.ts"),
  imports("cli/commands/imports-deploy.ts", "../deploy/thing.ts"),
  imports("cli/preview/imports-agent.ts", "../../node-agent/runtime/interface/thing.ts"),
  imports("cli/preview/imports-gateway.ts", "../../src/gateway/thing.ts"),
  imports("cli/preview/imports-processes.ts", "node:child_process"),
  imports("cli/preview/imports-scripts.ts", "../../scripts/thing.ts"),
  { ...imports("cli/local/imports-edge.ts", "../../standalone/edge.ts"), rule: RESTRICTED },
  imports("standalone/imports-cli.ts", "../cli/thing.ts"),
  imports("standalone/imports-edge.ts", "../src/endpoint/thing.ts"),
  imports("console/imports-db.ts", "../src/db/thing.ts"),
];

const ALLOWED_IMPORTS: readonly PlantedFile[] = [
  mayImport("src/contract/allowed-zod.ts", "zod"),
  mayImport("src/contract/allowed-own.ts", "./thing.ts"),
  mayImport("src/domain/allowed-contract.ts", "../contract/thing.ts"),
  mayImport("src/durable/allowed-domain.ts", "../domain/thing.ts"),
  mayImport("src/endpoint/allowed-durable.ts", "../durable/thing.ts"),
  mayImport("src/endpoint/batches/allowed-queue.ts", "../queue/thing.ts"),
  mayImportType("src/endpoint/queue/allowed-messages.ts", "../messages.ts"),
  mayImportType("src/endpoint/allowed-fleet-type.ts", "../fleet/fleet-object.ts"),
  mayImport("src/db/allowed-drizzle.ts", "drizzle-orm"),
  mayImport("src/auth/allowed-db.ts", "../db/thing.ts"),
  mayImport("src/management/keys/allowed-db.ts", "../../db/thing.ts"),
  mayImport("src/graphql/keys/allowed-management.ts", "../../management/keys/thing.ts"),
  mayImport("src/gateway/rest/allowed-management.ts", "../../management/keys/thing.ts"),
  mayImport("src/gateway/allowed-auth.ts", "../auth/thing.ts"),
  mayImportType("src/gateway/queue/allowed-object-type.ts", "../../endpoint/endpoint-object.ts"),
  mayImportType("src/graphql/endpoints/allowed-object-type.ts", "../../endpoint/endpoint-object.ts"),
  mayImportType("src/env.ts", "./fleet/fleet-object.ts"),
  mayImport("node-agent/edge/allowed-contract.ts", "../../src/contract/thing.ts"),
  mayImport("node-agent/runtime/allowed-docker.ts", "dockerode"),
  mayImport("node-agent/exchange/allowed-journal.ts", "../journal/thing.ts"),
  mayImport("node-agent/worker/queue/allowed-journal.ts", "../../journal/thing.ts"),
  mayImport("node-agent/runtime/docker/allowed-images.ts", "../images/thing.ts"),
  mayImportType("node-agent/logs/allowed-runtime-type.ts", "../runtime/interface/thing.ts"),
  mayImport("node-agent/gpu/allowed-processes.ts", "node:child_process"),
  mayImport("node-agent/host/allowed-processes.ts", "node:child_process"),
  mayImport("cli/allowed-contract.ts", "../src/contract/thing.ts"),
  mayImportType("cli/commands/allowed-type.ts", "../deploy/thing.ts"),
  mayLoad("cli/commands/allowed-load.ts", "../deploy/thing.ts"),
  mayImport("cli/local/allowed-messages.ts", "../../standalone/messages.ts"),
  mayImport("standalone/allowed-contract.ts", "../src/contract/thing.ts"),
  mayImport("cli/preview/allowed-docker.ts", "dockerode"),
  mayImport("cli/preview/allowed-domain.ts", "../../src/domain/thing.ts"),
  mayImport("src/domain/allowed.test.ts", "fast-check"),
];

/** Files of tests that sleep, by what they do. */
const SLEEPS: ReadonlyMap<string, string> = new Map([
  [
    "sleeps",
    'import { setTimeout as delay } from "node:timers/promises";\nexport const wait = async () => await delay(5);\n',
  ],
  [
    "sleeps-by-two-names",
    'import { setTimeout as delay } from "node:timers/promises";\nimport { setImmediate as turn } from "node:timers/promises";\nexport const wait = async () => [await delay(5), await turn()];\n',
  ],
  [
    "sleeps-by-intervals",
    'import { setInterval as ticks } from "node:timers/promises";\nexport const every = () => ticks(5);\n',
  ],
  ["imports-all-timers", 'import * as timers from "node:timers/promises";\nexport const all = timers;\n'],
  ["imports-promises", 'import { promises } from "node:timers";\nexport const all = promises;\n'],
  ["imports-timers-late", 'export const load = async () => await import("node:timers/promises");\n'],
  [
    "polls",
    "export async function wait(isOver: () => boolean) {\n  while (!isOver()) await scheduler.wait(5);\n}\n",
  ],
  ["promisifies", 'import { promisify } from "node:util";\nexport const delay = promisify(setTimeout);\n'],
  ["promises", "export const wait = () => new Promise((resolve) => setTimeout(resolve, 5));\n"],
  [
    "promises-in-a-block",
    "export const wait = () => new Promise((resolve) => {\n  setTimeout(resolve, 5);\n});\n",
  ],
  ["promises-void", "export const wait = () => new Promise((resolve) => void setTimeout(resolve, 5));\n"],
  [
    "promises-globally",
    "export const wait = () => new Promise<void>((resolve) => {\n  globalThis.setTimeout(() => resolve(), 5);\n});\n",
  ],
  [
    "promises-by-another-name",
    'import { setTimeout as later } from "node:timers";\nexport const wait = () => new Promise((resolve) => later(resolve, 5));\n',
  ],
  [
    "has-resolver",
    "export async function wait() {\n  const { promise, resolve } = Promise.withResolvers<void>();\n  setTimeout(resolve, 5);\n  await promise;\n}\n",
  ],
  [
    "has-resolvers",
    "export async function wait() {\n  const end = Promise.withResolvers<void>();\n  setTimeout(() => end.resolve(), 5);\n  await end.promise;\n}\n",
  ],
]);

/** Files of tests with timers that end something. */
const NO_SLEEPS: ReadonlyMap<string, string> = new Map([
  ["limits", "export const limit = (end: () => void) => setTimeout(end, 5);\n"],
  [
    "limits-promise",
    'export const limit = () => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 5));\n',
  ],
  [
    "waits-for-event",
    'export const wait = (socket: EventTarget) => new Promise((resolve) => {\n  setTimeout(resolve, 5);\n  socket.addEventListener("close", resolve);\n});\n',
  ],
  [
    "turns",
    'import { setImmediate as turn } from "node:timers/promises";\nexport const wait = async () => await turn();\n',
  ],
]);

const OPEN = "declare function openDatabase(database: string): unknown;\n";
const ENV = "type Env = { readonly DB: D1Database };\n";

/** Files that reach D1 past `src/management`, by their paths. */
const DATABASE_ACCESS: ReadonlyMap<string, string> = new Map([
  [
    "src/graphql/opens-drizzle.ts",
    `import { drizzle } from "drizzle-orm/d1";\n${ENV}export const open = (env: Env) => drizzle(env.DB);\n`,
  ],
  ["src/gateway/rest/imports-drizzle.ts", 'import { sql } from "drizzle-orm";\nexport const one = sql`1`;\n'],
  ["src/gateway/loads-drizzle.ts", 'export const load = async () => await import("drizzle-orm");\n'],
  ["src/management/keys/states.ts", 'import { sql } from "drizzle-orm";\nexport const one = sql`1`;\n'],
  ["src/graphql/prepares.ts", `${ENV}export const one = (env: Env) => env.DB.prepare("SELECT 1");\n`],
  ["src/management/prepares.ts", `${ENV}export const one = (env: Env) => env.DB.prepare("SELECT 1");\n`],
  ["src/gateway/indexes.ts", `${ENV}export const one = (env: Env) => env["DB"];\n`],
  ["src/endpoint/unpacks.ts", `${ENV}export const one = ({ DB: db }: Env) => db;\n`],
  [
    "src/graphql/opens-database.ts",
    `${OPEN}export const open = (env: { DB: string }) => openDatabase(env.DB);\n`,
  ],
]);

const OTHER_RULES: readonly PlantedFile[] = [
  breaks(
    "eslint(no-restricted-properties)",
    "src/domain/reads-clock.ts",
    "export const now = () => Date.now();\n",
  ),
  breaks(
    "eslint(no-restricted-properties)",
    "src/domain/rolls-dice.ts",
    "export const roll = () => Math.random();\n",
  ),
  breaks("eslint(no-restricted-globals)", "src/domain/fetches.ts", 'export const get = () => fetch("/");\n'),
  breaks(
    "typescript(no-floating-promises)",
    "src/gateway/forgets-await.ts",
    "async function save(): Promise<void> {}\nexport function run(): void {\n  save();\n}\n",
  ),
  breaks(
    "typescript(no-misused-promises)",
    "src/gateway/misuses-promise.ts",
    "const ask = async (): Promise<boolean> => true;\nexport const answer = ask() ? 1 : 2;\n",
  ),
  breaks(
    "typescript(switch-exhaustiveness-check)",
    "src/domain/forgets-case.ts",
    'export function word(kind: "a" | "b"): string {\n  switch (kind) {\n    case "a":\n      return "A";\n  }\n  return "";\n}\n',
  ),
  breaks("typescript(no-explicit-any)", "src/domain/says-any.ts", "export type Anything = any;\n"),
  breaks(
    "typescript(no-non-null-assertion)",
    "src/domain/asserts.ts",
    "export const first = (list: readonly string[]): string => list[0]!;\n",
  ),
  breaks(
    "typescript(consistent-type-imports)",
    "src/fleet/imports-value.ts",
    'import { Thing } from "./thing.ts";\nexport type Copy = Thing;\n',
  ),
  breaks(
    "edgerun(no-open-tables)",
    "src/domain/open-table.ts",
    "export const CODES: Readonly<Record<string, number>> = { a: 1 };\n",
  ),
  {
    path: "src/domain/closed-table.ts",
    source: 'export const CODES: Readonly<Record<"a" | "b", number>> = { a: 1, b: 2 };\n',
    rule: undefined,
  },
  ...[...SLEEPS].map(([name, source]) => breaks("edgerun(no-sleeps)", `test/e2e/${name}.test.ts`, source)),
  ...[...NO_SLEEPS].map(([name, source]) => ({ path: `test/e2e/${name}.test.ts`, source, rule: undefined })),
  ...[...DATABASE_ACCESS].map(([path, source]) => breaks("edgerun(database-access)", path, source)),
  {
    path: "src/management/opens-database.ts",
    source: `${OPEN}export const open = (env: { DB: string }) => openDatabase(env.DB);\n`,
    rule: undefined,
  },
  breaks("unicorn(filename-case)", "src/domain/CamelCase.ts", "export const one = 1;\n"),
  breaks("import(no-default-export)", "src/domain/has-default.ts", "export default 1;\n"),
  breaks("eslint(no-console)", "src/domain/prints.ts", 'console.log("here");\nexport const one = 1;\n'),
  breaks(
    "import(no-cycle)",
    "src/domain/cycle-a.ts",
    'import { b } from "./cycle-b.ts";\nexport const a = (): number => b();\n',
  ),
  breaks(
    "import(no-cycle)",
    "src/domain/cycle-b.ts",
    'import { a } from "./cycle-a.ts";\nexport const b = (): number => a();\n',
  ),
  breaks(
    "vitest(no-focused-tests)",
    "src/domain/focused.test.ts",
    'import { test } from "vitest";\ntest.only("alone", ({ expect }) => expect(1).toBe(1));\n',
  ),
];

export const PLANTED_FILES: readonly PlantedFile[] = [
  ...FORBIDDEN_IMPORTS,
  ...ALLOWED_IMPORTS,
  ...OTHER_RULES,
];
