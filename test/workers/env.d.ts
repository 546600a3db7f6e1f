declare namespace Cloudflare {
  /** Bindings of wrangler.toml and, from vitest.config.ts, those of tests. */
  interface Env extends Required<import("../../src/env.ts").Env> {
    SUBJECT: DurableObjectNamespace;
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
    MODEL_RUNS: string;
    MODEL_SEED: string;
    MODEL_PATH: string;
  }

  interface GlobalProps {
    mainModule: typeof import("./main.ts");
  }
}

declare module "*.graphql?raw" {
  const text: string;
  export default text;
}
