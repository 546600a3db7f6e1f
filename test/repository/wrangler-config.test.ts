import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { test } from "vitest";
import { unstable_readConfig } from "wrangler";

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
