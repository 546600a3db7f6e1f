/** What the facts of a host mean, and how to fix problems. Every check is pure. */
import { AGENT_NODE_MIN, isEarlier } from "../../src/contract/agent/agent-version.ts";
import { formatArtifactUsage } from "../artifacts/artifact-directory.ts";
import { describeEscape, escapesOf } from "../runtime/daemon/known-escapes.ts";
import type { EdgeFacts, HostFacts } from "./read-facts.ts";

export type Finding = {
  readonly check: string;
  readonly level: "ok" | "warn" | "fail";
  readonly text: string;
  /** How to fix it; absent where nothing is wrong. */
  readonly fix?: string;
};

const DOCKER_MIN = "20.10.0";
const DISK_LOW_MB = 20_000;
const DISK_LEAST_MB = 2_000;
const MEMORY_LOW_MB = 4_000;
/** Beyond this error of the clock, certificates and signatures are rejected. */
const CLOCK_WRONG_MS = 60_000;
const CLOCK_OFF_MS = 5_000;
const SILENT_MS = 120_000;
const GIGABYTE_MB = 1_000;

/** All findings of a host, in the order in which to fix them. */
export function checkHost(facts: HostFacts): readonly Finding[] {
  return [
    checkNode(facts),
    ...checkDocker(facts),
    ...checkEscapes(facts),
    ...checkGpus(facts),
    checkDisk(facts),
    checkMemory(facts),
    checkArtifacts(facts),
    ...(facts.edge ? checkEdge(facts.edge) : [noEdge()]),
    checkAgent(facts),
    ...checkLeftovers(facts),
  ];
}

export function checkNode({ nodeVersion }: Pick<HostFacts, "nodeVersion">): Finding {
  if (!isEarlier(nodeVersion, AGENT_NODE_MIN)) return ok("node", `Node ${nodeVersion}`);
  return fail("node", `Node ${nodeVersion} is too old`, `Install Node ${AGENT_NODE_MIN} or later.`);
}

export function checkDocker({
  docker: reading,
  requestedRuntime,
  iptables,
}: Pick<HostFacts, "docker" | "requestedRuntime" | "iptables">): readonly Finding[] {
  if (requestedRuntime === "process") {
    return [warn("docker", "Workers run as plain processes: nothing isolates them", "Use --runtime docker.")];
  }
  if (reading.kind === "silent") {
    const fix = "Install it (apt-get install docker.io) or start it: systemctl enable --now docker";
    return [fail("docker", `No Docker daemon answers: ${reading.detail}`, fix)];
  }
  const { docker } = reading;
  if (!docker.isOnThisMachine) {
    const fix =
      "Run the agent where Docker's containers run; Docker Desktop keeps them in a virtual machine.";
    return [fail("docker", "Containers and this machine cannot reach each other", fix)];
  }
  const isOld = isEarlier(docker.version, DOCKER_MIN);
  return [
    isOld
      ? fail("docker", `Docker ${docker.version} is too old`, `Install Docker ${DOCKER_MIN} or later.`)
      : ok("docker", `Docker ${docker.version}, cgroup v${docker.cgroupVersion}`),
    checkStorage(docker),
    docker.missingLimits.length === 0
      ? ok("limits", "Memory, processes and cpu of containers can be limited")
      : warn(
          "limits",
          `The kernel cannot limit: ${docker.missingLimits.join(", ")}`,
          "Boot with cgroup_enable=memory, or with cgroup v2 (systemd.unified_cgroup_hierarchy=1).",
        ),
    checkIptables(iptables),
  ];
}

/** Known ways out of containers. */
export function checkEscapes({
  versions,
  requestedRuntime,
}: Pick<HostFacts, "versions" | "requestedRuntime">): readonly Finding[] {
  if (requestedRuntime === "process" || versions.length === 0) return [];
  const escapes = escapesOf(versions);
  if (escapes.length === 0)
    return [ok("isolation", versions.map(({ component, version }) => `${component} ${version}`).join(", "))];
  return escapes.map((escape) => {
    const { text, fix } = describeEscape(escape);
    return escape.certainty === "certain" ? fail("isolation", text, fix) : warn("isolation", text, fix);
  });
}

type FoundDocker = Extract<HostFacts["docker"], { kind: "found" }>["docker"];

function checkStorage({ storageDriver, backingFileSystem, hasProjectQuota, rootDirectory }: FoundDocker) {
  const what = `${storageDriver} on ${backingFileSystem || "an unknown file system"}`;
  if (["btrfs", "zfs", "windowsfilter"].includes(storageDriver) || hasProjectQuota) {
    return ok("storage", `${what}; the disk of containers is limited`);
  }
  if (storageDriver === "vfs") {
    return warn("storage", "vfs copies every image layer", "Use overlay2: see docs.docker.com/storage.");
  }
  return warn(
    "storage",
    `${what}: one container can fill the disk of all`,
    `Put ${rootDirectory} on XFS mounted with the option pquota.`,
  );
}

function checkIptables(iptables: HostFacts["iptables"]): Finding {
  if (iptables === "works") return ok("iptables", "iptables works");
  if (iptables === "absent") {
    return fail(
      "iptables",
      "iptables is missing: containers cannot be kept apart",
      "apt-get install iptables",
    );
  }
  const fix = "Is this run as root? Is the kernel module ip_tables or nf_tables there?";
  return fail("iptables", `iptables does not work: ${iptables.error}`, fix);
}

export function checkGpus({
  gpus,
  driverVersion,
  hasToolkit,
  docker,
  requestedRuntime,
}: Pick<
  HostFacts,
  "gpus" | "driverVersion" | "hasToolkit" | "docker" | "requestedRuntime"
>): readonly Finding[] {
  if (gpus.kind === "absent") {
    const fix = "Install the NVIDIA driver, if this machine has a GPU.";
    return [warn("gpu", "There is no NVIDIA driver, so this host offers no GPU", fix)];
  }
  if (gpus.kind === "failed") {
    return [fail("gpu", gpus.detail, "Load the driver or restart the machine; see: dmesg | grep -i nvrm")];
  }
  if (gpus.gpus.length === 0)
    return [warn("gpu", "The NVIDIA driver finds no GPU", "See: lspci | grep -i nvidia")];
  return [
    ok("driver", `NVIDIA driver ${driverVersion ?? "of unknown version"}`),
    ...gpus.gpus.map(({ index, name, tier, memoryMb }) =>
      tier === null
        ? warn(
            `gpu ${index}`,
            `${name}: no job can ask for it`,
            "It is of no known tier, or partitioned (MIG): nvidia-smi -mig 0",
          )
        : ok(`gpu ${index}`, `${name}, ${tier}, ${Math.round(memoryMb / 1024)} GB`),
    ),
    ...(requestedRuntime === "process" ? [] : [checkToolkit(hasToolkit, docker)]),
  ];
}

function checkToolkit(hasToolkit: boolean, docker: HostFacts["docker"]): Finding {
  const configure = "nvidia-ctk runtime configure --runtime=docker && systemctl restart docker";
  if (!hasToolkit) {
    const fix = `Install nvidia-container-toolkit (docs.nvidia.com/datacenter/cloud-native), then: ${configure}`;
    return fail("toolkit", "The NVIDIA Container Toolkit is missing: containers get no GPU", fix);
  }
  if (docker.kind === "found" && !docker.docker.runtimes.includes("nvidia")) {
    return warn("toolkit", "Docker does not know the runtime nvidia", configure);
  }
  return ok("toolkit", "NVIDIA Container Toolkit");
}

export function checkDisk({ diskFreeMb }: Pick<HostFacts, "diskFreeMb">): Finding {
  const text = `${Math.round(diskFreeMb / GIGABYTE_MB)} GB free`;
  const fix = "Remove images that nobody needs: docker image prune --all";
  if (diskFreeMb < DISK_LEAST_MB) return fail("disk", `${text}: no worker fits`, fix);
  return diskFreeMb < DISK_LOW_MB ? warn("disk", `${text}: few images fit`, fix) : ok("disk", text);
}

export function checkArtifacts({ artifacts }: Pick<HostFacts, "artifacts">): Finding {
  const what = artifacts.bytes > 0 ? formatArtifactUsage(artifacts) : "no files of apps";
  return ok("kept", `${what}; unused files are removed when the disk gets full`);
}

export function checkMemory({ memoryMb }: Pick<HostFacts, "memoryMb">): Finding {
  const text = `${Math.round(memoryMb / GIGABYTE_MB)} GB`;
  return memoryMb < MEMORY_LOW_MB
    ? warn("memory", `${text}: little for a worker`, "Add memory.")
    : ok("memory", text);
}

export function checkEdge(edge: EdgeFacts): readonly Finding[] {
  if (edge.isUnsafe) {
    const fix = "Use its https address, or set EDGERUN_ALLOW_PLAIN_HTTP=true where you trust the network.";
    return [fail("edge", `${edge.url} is not encrypted, so the agent does not speak to it`, fix)];
  }
  const through = edge.proxy === null ? "" : ` through the proxy ${edge.proxy}`;
  if ("error" in edge.names && edge.proxy === null) {
    const fix = "Is the address right? See /etc/resolv.conf, and: getent hosts <name>";
    return [fail("edge", `The name of ${edge.url} is not found: ${edge.names.error}`, fix)];
  }
  if (edge.error !== null) {
    const fix = `Only outbound HTTPS is needed. Try: curl -v ${edge.url}   Behind a proxy: set HTTPS_PROXY in /etc/edgerun/agent.env`;
    return [fail("edge", `${edge.url} is not reached${through}: ${edge.error}`, fix)];
  }
  return [
    ok("edge", `${edge.url} answers${through}`),
    ...checkClock(edge),
    ...checkSignature(edge),
    ...checkCredential(edge),
  ];
}

function checkClock({ clockAheadMs }: EdgeFacts): readonly Finding[] {
  if (clockAheadMs === null) return [];
  const off = Math.abs(clockAheadMs);
  const text = `The clock is ${(off / 1_000).toFixed(0)} s ${clockAheadMs > 0 ? "ahead" : "behind"}`;
  const fix = "timedatectl set-ntp true";
  if (off >= CLOCK_WRONG_MS) return [fail("clock", text, fix)];
  return [off >= CLOCK_OFF_MS ? warn("clock", text, fix) : ok("clock", "The clock agrees with the edge's")];
}

function checkSignature({ signature }: EdgeFacts): readonly Finding[] {
  if (signature === null) return [];
  if (signature === "signed")
    return [ok("signature", "The agent of the edge is signed by the key of this host")];
  const fix = "Ask who deploys the edge. Is its key new? Then: edgerun-agent upgrade --accept-key <key>";
  return [fail("signature", `The agent of the edge will not be installed: ${signature.error}`, fix)];
}

function checkCredential({ host }: EdgeFacts): readonly Finding[] {
  if (host === null) {
    return [fail("host", "This host has not joined", "Run install.sh with a join token (joinTokenCreate).")];
  }
  if (host.kind === "unauthorized") {
    const fix = "It was removed, or the edge is another one. Run install.sh with a new join token.";
    return [fail("host", "The edge does not know this host any more", fix)];
  }
  if (host.kind !== "answered") {
    return [warn("host", `The edge gives no word on this host: ${host.detail}`, "Upgrade the edge.")];
  }
  return [ok("host", `Joined as ${host.reply.name} (${host.reply.hostId})`)];
}

export function checkAgent({
  agent,
  agentVersion,
  edge,
}: Pick<HostFacts, "agent" | "agentVersion" | "edge">): Finding {
  const known = edge?.host?.kind === "answered" ? edge.host.reply.agent : undefined;
  const upgrade = "edgerun-agent upgrade";
  if (known && isEarlier(agentVersion, known.minimum)) {
    return fail("agent", `Agent ${agentVersion} is too old for the edge and gets no work`, upgrade);
  }
  if (agent === null) {
    const fix = "systemctl start edgerun-agent     and see: journalctl -u edgerun-agent";
    return warn("agent", "No agent runs on this host", fix);
  }
  if (agent.silentMs === null || agent.silentMs > SILENT_MS) {
    return fail("agent", "The agent runs, and has not heard the edge", "See: journalctl -u edgerun-agent");
  }
  if (known && isEarlier(agentVersion, known.current)) {
    return warn("agent", `Agent ${agentVersion} runs; the edge has ${known.current}`, upgrade);
  }
  return ok("agent", `Agent ${agentVersion} runs ${agent.workers} worker${agent.workers === 1 ? "" : "s"}`);
}

export function checkLeftovers({
  docker,
  hostId,
  agent,
}: Pick<HostFacts, "docker" | "hostId" | "agent">): readonly Finding[] {
  if (docker.kind === "silent") return [];
  const strangers = Object.entries(docker.docker.containersByHost).filter(
    ([id]) => id !== hostId || agent === null,
  );
  if (strangers.length === 0) return [ok("leftovers", "No containers that no agent looks after")];
  return strangers.map(([id, count]) =>
    warn(
      "leftovers",
      `${count} container${count === 1 ? "" : "s"} of host ${id}, for which no agent runs with this state`,
      `docker ps --all --filter label=edgerun.host=${id}     and remove what nobody needs`,
    ),
  );
}

function noEdge(): Finding {
  return fail("edge", "No edge is set", "Say it with --edge <url>, or run install.sh.");
}

function ok(check: string, text: string): Finding {
  return { check, level: "ok", text };
}
function warn(check: string, text: string, fix: string): Finding {
  return { check, level: "warn", text, fix };
}
function fail(check: string, text: string, fix: string): Finding {
  return { check, level: "fail", text, fix };
}

// The report

const LABELS = { ok: "ok  ", warn: "warn", fail: "FAIL" } as const;

/** One line per finding, and below it how to fix it. */
export function reportLines(findings: readonly Finding[]): readonly string[] {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings.flatMap(({ check, level, text, fix }) => [
    `${LABELS[level]}  ${check.padEnd(width)}  ${text}`,
    ...(fix === undefined ? [] : [`${" ".repeat(width + 8)}→ ${fix}`]),
  ]);
}

/** 0 unless a finding keeps this host from working. */
export function exitCodeOf(findings: readonly Finding[]): number {
  return findings.some(({ level }) => level === "fail") ? 1 : 0;
}
