import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, test } from "vitest";
import { CASES, type ObjectState, type Platform } from "../simulation/conformance/cases.ts";
import { LIFECYCLE } from "../simulation/conformance/lifecycle.ts";
import { objectName, type Stub } from "../simulation/conformance/subject.ts";

describe("workerd, as the simulated runtime has it,", () => {
  test.for(CASES)("$name", async ({ run, gives }, { expect }) => {
    const stub = env.POD.getByName(`conformance-${crypto.randomUUID()}`);
    await runInDurableObject(stub, async (_, state) => {
      const platform = { state: state as unknown as ObjectState, bucket: env.PAYLOADS, database: env.DB };
      expect(await run(platform as unknown as Platform)).toEqual(gives);
    });
  });

  test.concurrent.for(LIFECYCLE)("$name", async ({ name, run, gives }, { expect }) => {
    const runId = crypto.randomUUID();
    const object = (isOther: boolean) =>
      env.SUBJECT.getByName(objectName({ caseName: name, runId, isOther }));
    const outside = {
      stub: () => object(false) as unknown as Stub,
      other: () => object(true) as unknown as Stub,
      evict: () => evictDurableObject(object(false)),
    };
    expect(await run(outside)).toEqual(gives);
  });
});
