import { env, runInDurableObject } from "cloudflare:test";
import { describe, test } from "vitest";
import { CASES, type ObjectState, type Platform } from "../simulation/conformance/cases.ts";

describe("workerd, as the simulated runtime has it,", () => {
  test.for(CASES)("$name", async ({ run, gives }, { expect }) => {
    const stub = env.POD.getByName(`conformance-${crypto.randomUUID()}`);
    await runInDurableObject(stub, async (_, state) => {
      const platform = { state: state as unknown as ObjectState, bucket: env.PAYLOADS, database: env.DB };
      expect(await run(platform as unknown as Platform)).toEqual(gives);
    });
  });
});
