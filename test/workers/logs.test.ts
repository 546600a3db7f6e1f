import { env } from "cloudflare:workers";
import { afterEach, beforeEach, test, vi } from "vitest";
import type { Env } from "../../src/env.ts";
import worker from "../../src/index.ts";
import { freshAccount } from "./accounts.ts";

const METHODS = ["log", "info", "warn", "error", "debug", "trace"] as const;

let lines: string[];

beforeEach(() => {
  lines = [];
  for (const method of METHODS) {
    vi.spyOn(console, method).mockImplementation((...parts: unknown[]) => {
      lines.push(parts.map((word) => (word instanceof Error ? word.stack : JSON.stringify(word))).join(" "));
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
});

const breakdown = new Error("out of order");
const broken = (methods: object) => methods as unknown;

/** A database that answers the look-up of a key and fails in all else, or in everything. */
function failingDatabase(isKeyKnown: boolean): D1Database {
  const fail = (): never => {
    throw breakdown;
  };
  const prepare = (sql: string) => (isKeyKnown && sql.includes('"api_key"') ? env.DB.prepare(sql) : fail());
  return broken({ prepare, batch: fail, exec: fail }) as D1Database;
}

test("nothing that is logged holds a key, whatever fails", async ({ expect }) => {
  const { key } = await freshAccount();
  const environments: Env[] = [
    env,
    { ...env, DB: failingDatabase(true) },
    { ...env, DB: failingDatabase(false) },
    { ...env, ENCRYPTION_KEYS: "unreadable" },
  ];
  const bodies = [
    "{ myself { id endpoints { id aiKey } } }",
    "mutation { joinTokenCreate { token } }",
    "{ nonsense",
    "",
  ];
  const paths = ["/graphql", "/v2/unknown/health", "/v2/unknown/run", "/agent/sync", "/nowhere"];
  let failures = 0;
  for (const bindings of environments) {
    for (const path of paths) {
      for (const query of bodies) {
        const request = new Request(`http://edge${path}?api_key=${key}&other=${key}`, {
          method: "POST",
          body: JSON.stringify({ query }),
          headers: path === "/graphql" ? {} : { Authorization: `Bearer ${key}` },
        });
        const context = { waitUntil: () => {}, passThroughOnException: () => {} };
        const response = await worker.fetch(request, bindings, broken(context) as ExecutionContext);
        await response.text();
        failures += response.status === 500 ? 1 : 0;
      }
    }
  }
  expect(failures).toBeGreaterThan(0);
  expect(lines.length).toBeGreaterThanOrEqual(failures);
  expect(lines.join("\n")).toContain("out of order");
  expect(lines.join("\n")).not.toContain(key);
  expect(lines.join("\n")).not.toContain("api_key=");
});
