/**
 * What a preview has on this computer: its id, its containers, its network, its volumes.
 *
 * S1  All of it carries the preview's label and says which process made it, so that the next preview finds what a
 *     killed one has left. What another computer made on the same daemon is nobody's business here.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type Dockerode from "dockerode";
import * as z from "zod";
import { isConflict, isGoneOrConflict, isNotFound } from "../../node-agent/runtime/daemon/docker-errors.ts";
import { ignoring } from "../../node-agent/runtime/daemon/docker-calls.ts";
import { readProcess } from "../../node-agent/runtime/process/process-table.ts";

const PREVIEW_LABEL = "edgerun.preview";
const OWNER_LABEL = "edgerun.preview.owner";

export const CONTAINER_PREFIX = "flash-preview-";

const ownerSchema = z.object({ host: z.string(), pid: z.number(), start: z.string() });
type Owner = z.infer<typeof ownerSchema>;

export type Site = {
  /** Six hex digits. */
  readonly id: string;
  readonly networkName: string;
  /** Of everything that the preview makes. */
  readonly labels: Readonly<Record<string, string>>;
};

/** A place of this process. */
export async function newSite(): Promise<Site> {
  const id = randomBytes(3).toString("hex");
  const start = (await readProcess(process.pid))?.start ?? "";
  const owner: Owner = { host: hostname(), pid: process.pid, start };
  const labels = { [PREVIEW_LABEL]: id, [OWNER_LABEL]: JSON.stringify(owner) };
  return { id, networkName: `${CONTAINER_PREFIX}${id}`, labels };
}

/** Makes the network; answers the address of this computer on it. */
export async function makeNetwork(docker: Dockerode, site: Site): Promise<string | undefined> {
  const network = await docker.createNetwork({
    Name: site.networkName,
    Driver: "bridge",
    Labels: { ...site.labels },
  });
  const { IPAM } = (await network.inspect()) as Dockerode.NetworkInspectInfo;
  return IPAM?.Config?.map(({ Gateway }) => Gateway?.split("/")[0]).find((gateway) => gateway !== undefined);
}

/** Removes all that a preview has made, whatever state it is in; says how many containers there were. */
export async function clear(docker: Dockerode, id: string): Promise<number> {
  const filters = { label: [`${PREVIEW_LABEL}=${id}`] };
  const containers = await docker.listContainers({ all: true, filters });
  await Promise.all(containers.map(({ Id }) => removeContainer(docker.getContainer(Id))));
  for (const { Id } of await docker.listNetworks({ filters })) {
    await ignoring(isNotFound, docker.getNetwork(Id).remove());
  }
  for (const { Name } of (await docker.listVolumes({ filters })).Volumes) {
    await ignoring(isNotFound, docker.getVolume(Name).remove());
  }
  return containers.length;
}

async function removeContainer(container: Dockerode.Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true });
  } catch (error) {
    if (isNotFound(error)) return;
    if (!isConflict(error)) throw error;
    // It is being removed already.
    await ignoring(isGoneOrConflict, container.wait({ condition: "removed" }));
  }
}

/** Removes what previews have left whose process is gone; says how many containers there were. */
export async function clearLeftovers(docker: Dockerode): Promise<number> {
  let count = 0;
  for (const [id, owner] of await foundPreviews(docker)) {
    if (!(await isGone(owner))) continue;
    count += await clear(docker, id);
  }
  return count;
}

async function foundPreviews(docker: Dockerode): Promise<ReadonlyMap<string, string>> {
  const filters = { label: [PREVIEW_LABEL] };
  const [containers, networks, { Volumes: volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listNetworks({ filters }),
    docker.listVolumes({ filters }),
  ]);
  const labels = [...containers, ...networks, ...volumes].map(({ Labels }) => Labels ?? {});
  return new Map(labels.map((found) => [found[PREVIEW_LABEL] ?? "", found[OWNER_LABEL] ?? ""]));
}

async function isGone(text: string): Promise<boolean> {
  const owner = ownerSchema.safeParse(jsonOf(text));
  if (!owner.success || owner.data.host !== hostname()) return false;
  const { pid, start } = owner.data;
  const running = await readProcess(pid);
  return running === null || running.isZombie || running.start !== start;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
