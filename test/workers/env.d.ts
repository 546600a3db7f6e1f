declare namespace Cloudflare {
  /** Bindings of wrangler.toml and, from vitest.config.ts, those of tests. */
  interface Env extends RequiredEnv {
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
  }
}

type RequiredEnv = Required<import("../../src/env.ts").Env>;
