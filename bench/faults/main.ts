/**
 * `node bench/faults/main.ts [rounds] [hosts, disks, docker or pods] [part of a name]`: breaks things on a rig of hosts,
 * as root, and prints a table of what clients see of it.
 */
import { median } from "../load/percentiles.ts";
import { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import { diskFailures, openDiskScene, untilDiskIsQuiet } from "./disk-faults.ts";
import { dockerFailures, openDockerScene, untilDockerIsQuiet } from "./docker-faults.ts";
import { hostFailures, openScene, untilQuiet } from "./host-faults.ts";
import { openPodScene, podFailures, untilNoPodIsLeft } from "./pod-faults.ts";
import type { FailureRecord } from "./observation.ts";

const [rounds = "3", group = "", part = ""] = process.argv.slice(2);

type Round = { readonly record: FailureRecord; readonly quietMs: number };

async function measure<Scene>(
  failures: Readonly<Record<string, (scene: Scene) => Promise<FailureRecord>>>,
  open: (rig: FleetRig) => Promise<Scene>,
  untilClean: (scene: Scene) => Promise<number>,
): Promise<void> {
  const chosen = Object.entries(failures).filter(([name]) => name.includes(part));
  if (chosen.length === 0) return;
  await using rig = await FleetRig.open();
  const scene = await open(rig);
  for (const [name, failure] of chosen) {
    const done: Round[] = [];
    while (done.length < Number(rounds)) {
      done.push({ record: await failure(scene), quietMs: await untilClean(scene) });
    }
    console.log(row(name, done));
  }
}

function row(name: string, done: readonly Round[]): string {
  const cells = [
    name,
    distinct(done.flatMap(({ record }) => record.seen)).join(", "),
    distinct(done.flatMap(({ record }) => record.results.map(ending))).join(", "),
    distinct(done.map(({ record }) => String(record.counted.retried))).join(" or "),
    seconds(done.map(({ record }) => record.endedMs)),
    seconds(done.map(({ quietMs }) => quietMs)),
    distinct(done.flatMap(({ record }) => record.details)).join(" / "),
  ];
  return `| ${cells.join(" | ")} |`;
}

function ending({ status, error }: FailureRecord["results"][number]): string {
  return error === undefined ? status : `${status} (${error})`;
}

function seconds(timesMs: readonly number[]): string {
  const each = timesMs.map((ms) => (ms / 1_000).toFixed(1));
  return `${(median(timesMs) / 1_000).toFixed(1)} s (${each.join(", ")})`;
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}

console.log("| Fault | Seen | Ends | Tried again | All ended after | Nothing left after | Details |");
console.log("| --- | --- | --- | --- | --- | --- | --- |");
if ("hosts".includes(group)) await measure(hostFailures, openScene, untilQuiet);
if ("disks".includes(group)) await measure(diskFailures, openDiskScene, untilDiskIsQuiet);
if ("docker".includes(group)) await measure(dockerFailures, openDockerScene, untilDockerIsQuiet);
if ("pods".includes(group)) {
  for (const isLiveRestore of [false, true])
    await measure(podFailures, (rig) => openPodScene(rig, isLiveRestore), untilNoPodIsLeft);
}
