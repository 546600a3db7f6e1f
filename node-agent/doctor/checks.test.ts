import { describe, test } from "vitest";
import { type DockerFacts, hasProjectQuota } from "../runtime/daemon/docker-facts.ts";
import { parseGpuQuery } from "../gpu/nvidia-smi.ts";
import type { EdgeFacts, HostFacts } from "./read-facts.ts";
import { type Finding, checkHost, exitCodeOf, reportLines } from "./checks.ts";

const KNOWN = {
  kind: "answered",
  reply: { hostId: "h1", name: "rack-1", agent: { current: "0.2.0", minimum: "0.1.0" } },
} as const;

const EDGE: EdgeFacts = {
  url: "https://edge.example",
  isUnsafe: false,
  names: { addresses: ["192.0.2.1"] },
  clockAheadMs: 200,
  proxy: null,
  host: KNOWN,
  error: null,
  signature: "signed",
};

const DOCKER: DockerFacts = {
  version: "27.3.1",
  storageDriver: "overlay2",
  backingFileSystem: "xfs",
  hasProjectQuota: true,
  cgroupVersion: "2",
  missingLimits: [],
  runtimes: ["runc", "nvidia"],
  rootDirectory: "/var/lib/docker",
  isOnThisMachine: true,
  containersByHost: { h1: 2 },
};

const WELL: HostFacts = {
  nodeVersion: "v24.11.1",
  agentVersion: "0.2.0",
  requestedRuntime: "docker",
  docker: { kind: "found", docker: DOCKER },
  versions: [
    { component: "runc", version: "1.3.3", changelog: undefined },
    { component: "NVIDIA Container Toolkit", version: "1.17.8", changelog: undefined },
  ],
  iptables: "works",
  gpus: parseGpuQuery("0, NVIDIA GeForce RTX 4090, 24564 MiB, [N/A]\n"),
  driverVersion: "550.54.15",
  hasToolkit: true,
  diskFreeMb: 500_000,
  artifacts: { count: 2, bytes: 40_000_000 },
  memoryMb: 64_000,
  hostId: "h1",
  edge: EDGE,
  agent: { workers: 2, silentMs: 3_000 },
};

function problems(change: Partial<HostFacts>): readonly Finding[] {
  return checkHost({ ...WELL, ...change }).filter(({ level }) => level !== "ok");
}
const withDocker = (change: Partial<DockerFacts>): Partial<HostFacts> => ({
  docker: { kind: "found", docker: { ...DOCKER, ...change } },
});
const withEdge = (change: Partial<EdgeFacts>): Partial<HostFacts> => ({ edge: { ...EDGE, ...change } });

test("a host as it should be has nothing to fix", ({ expect }) => {
  const findings = checkHost(WELL);
  expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
  expect(findings.some((finding) => "fix" in finding)).toBe(false);
  expect(exitCodeOf(findings)).toBe(0);
  expect(findings.map(({ check }) => check)).toEqual([
    "node",
    "docker",
    "storage",
    "limits",
    "iptables",
    "isolation",
    "driver",
    "gpu 0",
    "toolkit",
    "disk",
    "memory",
    "kept",
    "edge",
    "clock",
    "signature",
    "host",
    "agent",
    "leftovers",
  ]);
});

type Case = readonly [string, Partial<HostFacts>, Finding["level"], string];

const CASES: readonly Case[] = [
  ["an old Node", { nodeVersion: "v22.15.1" }, "fail", "node"],
  [
    "a silent daemon",
    { docker: { kind: "silent", detail: "connect ENOENT /var/run/docker.sock" } },
    "fail",
    "docker",
  ],
  ["an old Docker", withDocker({ version: "19.03.15" }), "fail", "docker"],
  [
    "disks without quota",
    withDocker({ hasProjectQuota: false, backingFileSystem: "extfs" }),
    "warn",
    "storage",
  ],
  ["Docker elsewhere", withDocker({ isOnThisMachine: false }), "fail", "docker"],
  ["vfs", withDocker({ storageDriver: "vfs", hasProjectQuota: false }), "warn", "storage"],
  ["limits that are missing", withDocker({ missingLimits: ["memory"] }), "warn", "limits"],
  [
    "a toolkit that lets images out",
    { versions: [{ component: "NVIDIA Container Toolkit", version: "1.17.7", changelog: undefined }] },
    "fail",
    "isolation",
  ],
  [
    "a containerd of which nobody knows",
    { versions: [{ component: "containerd", version: "1.4.3", changelog: null }] },
    "warn",
    "isolation",
  ],
  ["no iptables", { iptables: "absent" }, "fail", "iptables"],
  ["iptables without rights", { iptables: { error: "Permission denied" } }, "fail", "iptables"],
  ["no driver", { gpus: { kind: "absent" } }, "warn", "gpu"],
  ["no GPU", { gpus: parseGpuQuery("No devices were found") }, "warn", "gpu"],
  [
    "a driver in trouble",
    { gpus: parseGpuQuery("Failed to initialize NVML: Driver/library version mismatch") },
    "fail",
    "gpu",
  ],
  ["a GPU of no tier", { gpus: parseGpuQuery("0, Tesla T4, 15360, [N/A]") }, "warn", "gpu 0"],
  ["a partitioned GPU", { gpus: parseGpuQuery("0, NVIDIA A100-SXM4-80GB, 81920, Enabled") }, "warn", "gpu 0"],
  ["no toolkit", { hasToolkit: false }, "fail", "toolkit"],
  ["Docker without nvidia", withDocker({ runtimes: ["runc"] }), "warn", "toolkit"],
  ["a full disk", { diskFreeMb: 900 }, "fail", "disk"],
  ["little disk", { diskFreeMb: 9_000 }, "warn", "disk"],
  ["little memory", { memoryMb: 2_000 }, "warn", "memory"],
  ["no edge", { edge: null }, "fail", "edge"],
  [
    "an agent that another key has signed",
    withEdge({ signature: { error: "it is signed by the key b" } }),
    "fail",
    "signature",
  ],
  [
    "an edge without https",
    withEdge({ url: "http://edge.example", isUnsafe: true, host: null }),
    "fail",
    "edge",
  ],
  [
    "a name that is not found",
    withEdge({ names: { error: "getaddrinfo ENOTFOUND edge.example" }, error: "ENOTFOUND" }),
    "fail",
    "edge",
  ],
  ["an edge that is not reached", withEdge({ error: "certificate has expired" }), "fail", "edge"],
  [
    "a proxy in the way",
    withEdge({ proxy: "http://proxy:3128", names: { error: "ENOTFOUND" }, error: "connect ECONNREFUSED" }),
    "fail",
    "edge",
  ],
  ["a wrong clock", withEdge({ clockAheadMs: -90_000 }), "fail", "clock"],
  ["a clock that is off", withEdge({ clockAheadMs: 8_000 }), "warn", "clock"],
  ["a host that has not joined", withEdge({ host: null }), "fail", "host"],
  ["a host that was removed", withEdge({ host: { kind: "unauthorized", detail: "" } }), "fail", "host"],
  [
    "an older edge",
    withEdge({ host: { kind: "refused", status: 404, detail: "There is nothing" } }),
    "warn",
    "host",
  ],
  ["no agent", { agent: null }, "warn", "agent"],
  ["an agent in silence", { agent: { workers: 0, silentMs: 300_000 } }, "fail", "agent"],
  ["an outdated agent", { agentVersion: "0.1.0" }, "warn", "agent"],
  ["a refused agent", { agentVersion: "0.0.9" }, "fail", "agent"],
  ["containers of another host", withDocker({ containersByHost: { h1: 1, h0: 3 } }), "warn", "leftovers"],
];

describe("a host with something to fix", () => {
  test.for(CASES)("%s", ([, change, level, check], { expect }) => {
    const found = problems(change).filter((finding) => finding.check === check);
    expect(found.map((finding) => [finding.check, finding.level])).toEqual([[check, level]]);
    expect(found).toMatchSnapshot();
    expect(exitCodeOf(checkHost({ ...WELL, ...change }))).toBe(level === "fail" ? 1 : 0);
  });
});

test("plain processes need no Docker, and say that nothing isolates them", ({ expect }) => {
  const silent = { kind: "silent", detail: "none" } as const;
  const found = problems({
    requestedRuntime: "process",
    docker: silent,
    iptables: "absent",
    hasToolkit: false,
  });
  expect(found).toMatchObject([{ check: "docker", level: "warn" }]);
  expect(found).toMatchSnapshot();
});

test("the report has a line for each finding, and below it how to fix it", ({ expect }) => {
  const lines = reportLines([
    { check: "disk", level: "ok", text: "9 GB free" },
    { check: "toolkit", level: "fail", text: "It is missing", fix: "Install it" },
  ]);
  expect(lines).toEqual([
    "ok    disk     9 GB free",
    "FAIL  toolkit  It is missing",
    "               → Install it",
  ]);
});

test("a quota is that of the mount nearest above", ({ expect }) => {
  const mounts = [
    "/dev/sda1 / ext4 rw,relatime 0 0",
    "/dev/sdb1 /var/lib/docker xfs rw,noatime,prjquota 0 0",
    "/dev/sdc1 /var/lib/docker-old ext4 rw 0 0",
  ].join("\n");
  expect(hasProjectQuota(mounts, "/var/lib/docker")).toBe(true);
  expect(hasProjectQuota(mounts, "/var/lib/docker/data")).toBe(true);
  expect(hasProjectQuota(mounts, "/var/lib/docker-old")).toBe(false);
  expect(hasProjectQuota(mounts, "/srv")).toBe(false);
});
