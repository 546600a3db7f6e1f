/** The real D1, with something happening right before what is written in one transaction. */
import { env } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";

/** Bindings whose database calls back before each batch. */
function withTap(beforeBatch: () => Promise<void>): Env {
  const tapped = new Proxy(env.DB, {
    get: (database, name) => {
      if (name !== "batch") return Reflect.get(database, name).bind(database);
      return async (statements: D1PreparedStatement[]) => {
        await beforeBatch();
        return await database.batch(statements);
      };
    },
  });
  return { ...env, DB: tapped };
}

/** Bindings whose database lets something happen once, right before the first batch after it was armed. */
export function withMeantime() {
  let meantime: (() => Promise<unknown>) | undefined;
  const bindings = withTap(async () => {
    const happen = meantime;
    meantime = undefined;
    await happen?.();
  });
  return {
    bindings,
    arm: (happen: () => Promise<unknown>) => {
      meantime = happen;
    },
    hasHappened: () => meantime === undefined,
  };
}
