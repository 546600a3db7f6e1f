/** What the Docker daemon of this host reports about itself. */
import { errorMessage } from "../../../src/std/errors.ts";
import { readFile } from "node:fs/promises";
import { createServer, isIPv4 } from "node:net";
import Dockerode from "dockerode";
import * as z from "zod";
import { HOST_LABEL } from "./docker-calls.ts";

const LIMIT_MS = 10_000;

const infoSchema = z.object({
  ServerVersion: z.string(),
  Driver: z.string(),
  DriverStatus: z.array(z.array(z.string())).nullish(),
  CgroupVersion: z.string().optional(),
  MemoryLimit: z.boolean().optional(),
  PidsLimit: z.boolean().optional(),
  CpuCfsQuota: z.boolean().optional(),
  Runtimes: z.record(z.string(), z.unknown()).nullish(),
  DockerRootDir: z.string(),
});

export type DockerFacts = {
  readonly version: string;
  readonly storageDriver: string;
  /** File system below the storage driver, such as extfs or xfs; empty when it is not reported. */
  readonly backingFileSystem: string;
  /** Whether that file system is mounted with project quotas, by which a container's disk can be limited. */
  readonly hasProjectQuota: boolean;
  readonly cgroupVersion: string;
  /** Limits that the kernel cannot enforce. */
  readonly missingLimits: readonly string[];
  readonly runtimes: readonly string[];
  readonly rootDirectory: string;
  /** Its networks end at this machine, so the agent and the containers can reach each other. */
  readonly isOnThisMachine: boolean;
  /** Hosts whose containers are here, with how many there are. */
  readonly containersByHost: Readonly<Record<string, number>>;
};

export type DockerReading =
  | { readonly kind: "found"; readonly docker: DockerFacts }
  | { readonly kind: "silent"; readonly detail: string };

export async function readDockerFacts(): Promise<DockerReading> {
  const docker = new Dockerode({ timeout: LIMIT_MS });
  try {
    const info = infoSchema.parse(await docker.info());
    const mounts = await readFile("/proc/self/mounts", "utf8").catch(() => "");
    return {
      kind: "found",
      docker: {
        version: info.ServerVersion,
        storageDriver: info.Driver,
        backingFileSystem: info.DriverStatus?.find(([name]) => name === "Backing Filesystem")?.[1] ?? "",
        hasProjectQuota: hasProjectQuota(mounts, info.DockerRootDir),
        cgroupVersion: info.CgroupVersion ?? "1",
        missingLimits: missingLimits(info),
        runtimes: Object.keys(info.Runtimes ?? {}),
        rootDirectory: info.DockerRootDir,
        isOnThisMachine: await isOnThisMachine(docker),
        containersByHost: await countContainers(docker),
      },
    };
  } catch (error) {
    return { kind: "silent", detail: errorMessage(error) };
  }
}

/** Looks at the mount that a directory is on, in the text of /proc/mounts. */
export function hasProjectQuota(mounts: string, directory: string): boolean {
  const rows = mounts.split("\n").map((line) => line.split(" "));
  const above = rows.filter(([, point = ""]) => isBelow(directory, point));
  const [, , , options = ""] =
    above.toSorted((a, b) => (a[1] ?? "").length - (b[1] ?? "").length).at(-1) ?? [];
  return options.split(",").some((option) => option === "prjquota" || option === "pquota");
}

function isBelow(directory: string, point: string): boolean {
  return point === "/" || directory === point || directory.startsWith(`${point}/`);
}

function missingLimits(info: z.infer<typeof infoSchema>): readonly string[] {
  const limits = { memory: info.MemoryLimit, processes: info.PidsLimit, cpu: info.CpuCfsQuota };
  return Object.entries(limits).flatMap(([name, isThere]) => (isThere === false ? [name] : []));
}

/** The gateways of a remote daemon are not addresses of this machine. True when there is no gateway to check. */
async function isOnThisMachine(docker: Dockerode): Promise<boolean> {
  const networks = await docker.listNetworks({ filters: { driver: ["bridge"] } });
  const gateways = networks
    .flatMap(({ IPAM }) => IPAM?.Config ?? [])
    .map(({ Gateway }) => Gateway?.split("/")[0] ?? "")
    .filter((gateway) => isIPv4(gateway));
  if (gateways.length === 0) return true;
  const areOwn = await Promise.all(gateways.map((gateway) => isOwnAddress(gateway)));
  return areOwn.includes(true);
}

/** Whether this machine can listen at an address. */
export function isOwnAddress(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", () => resolve(false));
    server.listen(0, address, () => server.close(() => resolve(true)));
  });
}

async function countContainers(docker: Dockerode): Promise<Record<string, number>> {
  const containers = await docker.listContainers({ all: true, filters: { label: [HOST_LABEL] } });
  const counts: Record<string, number> = {};
  for (const { Labels } of containers) {
    const hostId = Labels[HOST_LABEL] ?? "";
    counts[hostId] = (counts[hostId] ?? 0) + 1;
  }
  return counts;
}
