/**
 * `node bench/faults/main.ts [rounds] [hosts, disks, docker, pods or partitions] [part of a name]`: breaks things on a
 * rig of hosts, as root, and prints tables of what clients see of it.
 */
import { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import { whyHostsCannotBreak, whyPacketsCannotGetLost } from "../../test/support/rig/rig-machine.ts";
import { diskFailures, openDiskScene, untilDiskIsQuiet } from "./disk-faults.ts";
import { dockerFailures, openDockerScene, untilDockerIsQuiet } from "./docker-faults.ts";
import { hostFailures, openScene, untilQuiet } from "./host-faults.ts";
import { observePartition, partitionFaults } from "./partition-faults.ts";
import { PARTITION_HEADER, partitionRow } from "./partition-table.ts";
import { openPodScene, podFailures, untilNoPodIsLeft } from "./pod-faults.ts";
import type { FailureRecord } from "./observation.ts";
import type { PartitionFigures } from "./partition-figures.ts";
import { seconds } from "./seconds.ts";

const [rounds = "3", group = "", part = ""] = process.argv.slice(2);

const HEADER = `| Fault | Seen | Ends | Tried again | All ended after | Nothing left after | Details |
| --- | --- | --- | --- | --- | --- | --- |`;

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
  console.log(HEADER);
  for (const [name, failure] of chosen) {
    const done: Round[] = [];
    while (done.length < Number(rounds)) {
      done.push({ record: await failure(scene), quietMs: await untilClean(scene) });
    }
    console.log(row(name, done));
  }
}

/** Ends with an error when something was seen that must not be. */
async function measurePartitions(): Promise<void> {
  const chosen = Object.entries(partitionFaults).filter(([name]) => name.includes(part));
  if (chosen.length === 0) return;
  await using rig = await FleetRig.open();
  const scene = await openScene(rig);
  console.log(PARTITION_HEADER);
  for (const [name, disturb] of chosen) {
    const done: PartitionFigures[] = [];
    while (done.length < Number(rounds)) {
      done.push(await observePartition(scene, disturb));
      await untilQuiet(scene);
    }
    console.log(partitionRow(name, done));
    const violations = done.flatMap((figures) => figures.violations);
    for (const violation of violations) console.error(`${name}: ${violation}`);
    if (violations.length > 0) process.exitCode = 1;
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

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}

const obstacle =
  (await whyHostsCannotBreak()) ?? ("partitions".includes(group) ? await whyPacketsCannotGetLost() : null);
if (obstacle !== null) {
  console.error(
    `Faults need root, network namespaces (ip), nft and loop devices, and there is an obstacle: ${obstacle}`,
  );
  process.exit(1);
}
if ("hosts".includes(group)) await measure(hostFailures, openScene, untilQuiet);
if ("disks".includes(group)) await measure(diskFailures, openDiskScene, untilDiskIsQuiet);
if ("docker".includes(group)) await measure(dockerFailures, openDockerScene, untilDockerIsQuiet);
if ("pods".includes(group)) {
  for (const isLiveRestore of [false, true])
    await measure(podFailures, (rig) => openPodScene(rig, isLiveRestore), untilNoPodIsLeft);
}
if ("partitions".includes(group)) await measurePartitions();
