/** `node bench/fleet-rig/main.ts`: a burst on three hosts of this machine; figures, and a picture for the docs. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import { type BurstFigures, runBurst } from "./burst.ts";
import { picture } from "./picture.ts";

const PICTURE = resolve(import.meta.dirname, "../../docs/explanation/scaling.svg");
const SETTINGS = {
  jobs: 500,
  jobSeconds: 0.5,
  idleTimeoutSeconds: 5,
  scaler: { scalerType: "QUEUE_DELAY", scalerValue: 4 },
  sampleEveryMs: 200,
} as const;

function table(figures: BurstFigures): string {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const rows = [
    ["all jobs submitted", seconds(figures.submittedMs)],
    ["first worker", seconds(figures.firstWorkerMs)],
    ["all workers", seconds(figures.allWorkersMs)],
    ["drained", seconds(figures.drainedMs)],
    ["no worker left", seconds(figures.zeroMs)],
    ["worker seconds used", String(figures.workerSecondsUsed)],
    ["worker seconds that the jobs took", String(figures.workerSecondsNeeded)],
  ];
  return rows.map((row) => `| ${row.join(" | ")} |`).join("\n");
}

await using rig = await FleetRig.open();
const { samples, results, figures } = await runBurst(rig, SETTINGS);
const others = results.filter(({ status }) => status !== "COMPLETED");
console.log(`${table(figures)}\n${results.length} jobs, ${others.length} of them not completed.`);
await writeFile(PICTURE, picture(samples));
