/** Several hosts on one machine, each with an agent, GPUs and a place of its own. */
import { test } from "vitest";
import { runBurst } from "../../bench/fleet-rig/burst.ts";
import { picture } from "../../bench/fleet-rig/picture.ts";
import { layOutBundle } from "../support/edgerun.ts";
import { FleetRig } from "../support/rig/fleet-rig.ts";

/** Several for each of the seven GPUs. */
const JOBS = 30;

test("a burst spreads over the GPUs of all hosts, and leaves nothing when it is over", async ({ expect }) => {
  await using rig = await FleetRig.open(layOutBundle);
  const { samples, results, figures } = await runBurst(rig, {
    jobs: JOBS,
    jobSeconds: 0.5,
    idleTimeoutSeconds: 1,
    scaler: { scalerType: "REQUEST_COUNT", scalerValue: 1 },
    sampleEveryMs: 100,
  });
  console.info(figures);
  expect(results.map(({ status, output }) => ({ status, output }))).toEqual(
    results.map((_, index) => ({ status: "COMPLETED", output: index })),
  );
  expect(
    samples.some(({ placed }) => placed["desk"] === 2 && placed["rack"] === 4 && placed["lab"] === 1),
  ).toBe(true);
  expect(samples.at(-1)).toMatchObject({ completed: JOBS, inQueue: 0, inProgress: 0 });
  expect(picture(samples)).toContain("<svg");
});
