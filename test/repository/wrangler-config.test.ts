import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { test } from "vitest";
import { parse } from "smol-toml";
import { unstable_readConfig } from "wrangler";
import {
  EDGE_RATE_LIMITS,
  rateLimitBinding,
  REQUESTS_PER_REPORT,
  type EdgeLimited,
} from "../../src/contract/rate-limits.ts";
import { type BoundResources, creatingCommands } from "../../scripts/deploy-setup.ts";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const config = unstable_readConfig({ config: join(ROOT, "wrangler.toml") }) as {
  readonly durable_objects: { readonly bindings: readonly { readonly class_name: string }[] };
  readonly migrations: readonly { readonly new_sqlite_classes?: readonly string[] }[];
  readonly main: string;
  readonly observability: {
    readonly redact_query_string?: boolean;
    readonly logs?: { readonly invocation_logs?: boolean };
  };
  readonly triggers: { readonly crons: readonly string[] };
  readonly routes?: readonly unknown[];
  readonly ratelimits: readonly {
    readonly name: string;
    readonly namespace_id: string;
    readonly simple: { readonly limit: number; readonly period: number };
  }[];
};

const boundClasses = config.durable_objects.bindings.map((binding) => binding.class_name);

test("every bound class is in the migrations, which a dry run of a deployment does not notice", ({
  expect,
}) => {
  const created = config.migrations.flatMap((migration) => migration.new_sqlite_classes ?? []);
  expect(boundClasses.filter((name) => !created.includes(name))).toEqual([]);
});

test("every bound class is exported by the Worker script", async ({ expect }) => {
  const source = await readFile(config.main, "utf8");
  const exported = [...source.matchAll(/^export \{ (.*) \} from/gm)].flatMap((match) =>
    match[1]?.split(", "),
  );
  expect(boundClasses.filter((name) => !exported.includes(name))).toEqual([]);
});

test("routes stand under an environment only, so that local requests keep their host", ({ expect }) => {
  expect(config.routes ?? []).toEqual([]);
});

test("no log of a deployment holds addresses, in which clients send their keys", ({ expect }) => {
  expect(config.observability.redact_query_string).toBe(true);
  expect(config.observability.logs?.invocation_logs).toBe(false);
});

test("maintenance is called for", ({ expect }) => {
  expect(config.triggers.crons).toEqual([expect.any(String)]);
});

test("each rate limit has its own binding, with its part of the numbers of the contract", ({ expect }) => {
  const wanted = Object.entries(EDGE_RATE_LIMITS).map(([limited, { requests, seconds }]) => ({
    name: rateLimitBinding(limited as EdgeLimited),
    simple: { limit: requests / REQUESTS_PER_REPORT, period: seconds },
  }));
  expect(config.ratelimits.map(({ name, simple }) => ({ name, simple }))).toEqual(wanted);
  expect(new Set(config.ratelimits.map((one) => one.namespace_id)).size).toBe(wanted.length);
});

/** Tables of wrangler.toml that bind or set nothing which has to be created before a deployment. */
const NOTHING_TO_CREATE = [
  ...["name", "main", "compatibility_date", "compatibility_flags", "workers_dev", "minify"],
  ...["upload_source_maps", "build", "assets", "observability", "triggers", "limits", "vars", "migrations"],
  ...["durable_objects", "ratelimits", "env"],
];

test("whatever is bound has a command that creates it, or is known to need none", async ({ expect }) => {
  const text = await readFile(join(ROOT, "wrangler.toml"), "utf8");
  const tables = parse(text) as BoundResources & Record<string, unknown>;
  const commands = creatingCommands(tables).join("\n");
  const resources = Object.entries(tables).filter(([table]) => !NOTHING_TO_CREATE.includes(table));
  expect(resources.length).toBeGreaterThan(0);
  for (const [table, entries] of resources) {
    for (const entry of entries as readonly Record<string, string>[]) {
      const name = Object.entries(entry).find(([key]) => key.endsWith("_name"))?.[1];
      expect(commands, `${table}: ${JSON.stringify(entry)}`).toMatch(new RegExp(` ${name}$`, "m"));
    }
  }
});

test("wrangler itself builds the files that the edge serves", async ({ expect }) => {
  const { build } = parse(await readFile(join(ROOT, "wrangler.toml"), "utf8")) as { build?: object };
  expect(build).toEqual({ command: "node scripts/bootstrap.mjs build" });
});

test("everything is of one version", async ({ expect }) => {
  const read = async (path: string) => await readFile(join(ROOT, path), "utf8");
  const lock = JSON.parse(await read("package-lock.json"));
  expect([
    JSON.parse(await read("package.json")).version,
    lock.version,
    lock.packages[""].version,
    /__version__ = "(.+)"/.exec(await read("sdk/python/src/edgerun/version.py"))?.[1],
    /^## \[(\d[^\]]*)\]/m.exec(await read("CHANGELOG.md"))?.[1],
  ]).toEqual(Array(5).fill(EDGERUN_VERSION));
});
