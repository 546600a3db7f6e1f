/** `node bench/faults/main.ts [rounds] [part of a name]`: breaks things, and says what clients see of it. */
import { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import { diskFaults, openDiskScene, untilDiskIsQuiet } from "./disk-faults.ts";
import { dockerFaults, openDockerScene, untilDockerIsQuiet } from "./docker-faults.ts";
import { hostFaults, openScene, untilQuiet } from "./host-faults.ts";
import type { FaultRecord } from "./observation.ts";

const [rounds = "3", part = ""] = process.argv.slice(2);

async function measure<Scene>(
  faults: Readonly<Record<string, (scene: Scene) => Promise<FaultRecord>>>,
  open: (rig: FleetRig) => Promise<Scene>,
  untilClean: (scene: Scene) => Promise<number>,
): Promise<void> {
  const chosen = Object.entries(faults).filter(([name]) => name.includes(part));
  if (chosen.length === 0) return;
  await using rig = await FleetRig.open();
  const scene = await open(rig);
  for (const [name, fault] of chosen) {
    for (let round = 0; round < Number(rounds); round += 1) {
      const record = await fault(scene);
      const quietMs = await untilClean(scene);
      const ends = record.results.map(({ status, error }) => `${status} ${error ?? ""}`).join(", ");
      console.log(name, record.endedMs, quietMs, record.counted, ends, record.seen, record.details);
    }
  }
}

await measure(hostFaults, openScene, untilQuiet);
await measure(diskFaults, openDiskScene, untilDiskIsQuiet);
await measure(dockerFaults, openDockerScene, untilDockerIsQuiet);
