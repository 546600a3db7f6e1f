/** Pods in real containers: their ports, their volumes, and what of both outlives a container. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import Dockerode from "dockerode";
import { beforeAll, describe, test } from "vitest";
import type { AssignedPod, Assignment, WorkerReport } from "../../src/contract/agent/agent.ts";
import { assignment } from "../support/agent-fixture.ts";
import { ContainerHost } from "../support/container-host.ts";
import { ensureTestImage, isDockerAvailable } from "../support/docker.ts";
import { ensureServerImage } from "../support/script-image.ts";
import { inTurn } from "../support/turn.ts";

const hasDocker = await isDockerAvailable();
const docker = new Dockerode();

/** Serves files of the volume, and writes them: GET and PUT /<name>. */
const FILES = `
  const fs = require("fs"), http = require("http");
  http.createServer((request, response) => {
    const path = "/workspace" + request.url;
    if (request.url === "/exit") process.exit(3);
    if (request.url.startsWith("/env/")) return response.end(process.env[request.url.slice(5)] ?? "");
    if (request.method === "PUT") return request.pipe(fs.createWriteStream(path)).on("close", () => response.end());
    response.end(fs.existsSync(path) ? fs.readFileSync(path) : "absent");
  }).listen(8000, () => console.log("up"));
  process.on("SIGTERM", () => process.exit(0));`;

describe.runIf(hasDocker)("a pod", () => {
  let image = "";

  beforeAll(async () => {
    image = await inTurn("images", () => ensureServerImage("root"));
  });

  function pod(settings: Partial<AssignedPod> = {}, overrides: Partial<Assignment> = {}): Assignment {
    const podId = `p-${randomUUID().slice(0, 8)}`;
    return assignment({
      workerId: podId,
      endpointId: podId,
      type: "POD",
      imageName: image,
      dockerArgs: JSON.stringify({ entrypoint: [], cmd: ["node", "-e", FILES] }),
      pod: {
        volumeInGb: 1,
        volumeMountPath: "/workspace",
        ports: [{ port: 8_000, protocol: "tcp" }],
        ...settings,
      },
      ...overrides,
    });
  }

  async function hostWithAddress(): Promise<ContainerHost> {
    return await ContainerHost.start({}, {}, { publicAddress: "127.0.0.1" });
  }

  /** Assigns the pod and waits until its container runs in this version; answers its report. */
  async function run(host: ContainerHost, one: Assignment): Promise<WorkerReport> {
    const { edge } = host.fixture;
    edge.podVolumes = [one.workerId];
    edge.assign(one);
    return await edge.until(() =>
      edge.syncs.at(-1)?.workers.find(({ revision, state, container }) => {
        return revision === one.revision && state === "ready" && container !== undefined;
      }),
    );
  }

  function portOf({ container }: WorkerReport, requested = 8_000): number {
    return container?.ports.find((port) => port.requested === requested)?.public ?? 0;
  }

  async function call(port: number, path: string, body?: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...(body !== undefined && { method: "PUT", body }),
      headers: { connection: "close" },
    });
    return await response.text();
  }

  /** How often the program of the host's only pod has begun to listen. */
  function upsOf(host: ContainerHost): number {
    return host.fixture.edge.logLines({ source: "container" }).filter(({ line }) => line === "up").length;
  }

  /** Its program listens a moment after its container runs. */
  async function listening(host: ContainerHost): Promise<void> {
    await host.fixture.edge.until(() => upsOf(host) > 0 || undefined);
  }

  test("is reached at its published port, which its variables name", async ({ expect }) => {
    await using host = await hostWithAddress();
    const ports = [
      { port: 8_000, protocol: "tcp" },
      { port: 70_000, protocol: "tcp" },
      { port: 8_888, protocol: "http" },
    ] as const;
    const one = pod({ ports: [...ports] }, { env: { GREETING: 'say "hello"' } });
    const report = await run(host, one);
    await listening(host);
    const port = portOf(report);
    expect(await call(port, "/env/GREETING")).toBe('say "hello"');
    expect(await call(port, "/env/RUNPOD_TCP_PORT_8000")).toBe(String(port));
    expect(await call(port, "/env/RUNPOD_PUBLIC_IP")).toBe("127.0.0.1");
    expect(await call(port, "/env/RUNPOD_POD_ID")).toBe(one.workerId);
    const symmetric = report.container?.ports.find(({ requested }) => requested === 70_000);
    expect(symmetric?.private).toBe(symmetric?.public);
    expect(await call(port, "/env/RUNPOD_TCP_PORT_70000")).toBe(String(symmetric?.public));
    expect(report.container?.ports).toHaveLength(2); // an HTTP port is not published
    expect(await call(port, "/env/RUNPOD_WEBHOOK_GET_JOB")).toBe("");
  });

  test("that wants sshd gets it where its image has the program and has not started it", async ({
    expect,
  }) => {
    await using host = await ContainerHost.start({}, { podServicesMs: 500 }, { publicAddress: "127.0.0.1" });
    // A program in the place of sshd: it shows what it found.
    const sshd = `#!/bin/sh
cp ~/.ssh/authorized_keys ~/.ssh/environment /workspace/
unset QUOTED
. ~/.bashrc && . /etc/rp_environment && printf %s "$QUOTED" > /workspace/sourced
echo "$@" > /workspace/sshd
`;
    const install = "busybox --install -s /bin; mkdir -p /usr/sbin /root";
    const write = 'printf %s "$SSHD" > /usr/sbin/sshd; chmod 755 /usr/sbin/sshd';
    const start = `${install}; ${write}; exec httpd -f -p 8000 -h /workspace`;
    const one = pod(
      { services: ["ssh", "jupyter"] },
      {
        imageName: await inTurn("images", () => ensureTestImage(docker)),
        dockerArgs: JSON.stringify({ entrypoint: [], cmd: ["sh", "-c", start] }),
        env: {
          PUBLIC_KEY: "ssh-ed25519 AAAA one\nssh-ed25519 BBBB two",
          SSHD: sshd,
          GREETING: "hello",
          QUOTED: 'it\'s "$HOME"\nand more',
          HOME: "/root",
        },
      },
    );
    const port = portOf(await run(host, one));
    const { edge } = host.fixture;
    const said = (text: string) =>
      edge.logLines({ source: "system" }).some(({ line }) => line.includes(text));
    await edge.until(() => (said("Started ssh on port 22") && said("has no jupyter")) || undefined);
    await edge.until(async () => (await call(port, "/sshd")) !== "absent" || undefined);
    expect(await call(port, "/authorized_keys")).toBe("ssh-ed25519 AAAA one\nssh-ed25519 BBBB two\n");
    expect((await call(port, "/environment")).split("\n")).toContain("GREETING=hello");
    expect(await call(port, "/sourced")).toBe('it\'s "$HOME"\nand more');
    expect(await call(port, "/sshd")).toContain("PermitUserEnvironment=yes");
  });

  test("keeps its ports and its volume over a new version, a stop and another agent", async ({ expect }) => {
    await using host = await hostWithAddress();
    const { edge } = host.fixture;
    const one = pod();
    const { workerId: podId } = one;
    const port = portOf(await run(host, one));
    await listening(host);
    await call(port, "/kept", "as it was");

    expect(portOf(await run(host, { ...one, revision: 2 }))).toBe(port);
    await edge.until(() => upsOf(host) > 1 || undefined);
    expect(await call(port, "/kept")).toBe("as it was");

    await host.restart();
    await run(host, { ...one, revision: 2 });
    expect(await call(port, "/kept")).toBe("as it was");

    edge.assign();
    await edge.until(() => edge.syncs.at(-1)?.workers.length === 0 || undefined);
    expect(
      await docker
        .getContainer(`edgerun-${podId}`)
        .inspect()
        .catch(() => null),
    ).toBeNull();
    expect(portOf(await run(host, { ...one, revision: 3 }))).toBe(port);
    await edge.until(() => upsOf(host) > 2 || undefined);
    expect(await call(port, "/kept")).toBe("as it was");
  });

  test("without a volume finds its ports again on the same host, and others have other ports", async ({
    expect,
  }) => {
    await using host = await hostWithAddress();
    const { edge } = host.fixture;
    const one = pod({ volumeInGb: 0 });
    const port = portOf(await run(host, one));
    edge.podVolumes = [];
    edge.assign();
    await edge.until(() => edge.syncs.at(-1)?.workers.length === 0 || undefined);
    const other = pod({ volumeInGb: 0 });
    expect(portOf(await run(host, other))).not.toBe(port);
    const again = { ...one, revision: 2 };
    edge.assign(other, again);
    const report = await edge.until(() =>
      edge.syncs
        .at(-1)
        ?.workers.find(({ workerId, state }) => workerId === one.workerId && state === "ready"),
    );
    expect(portOf(report)).toBe(port);
  });

  test("leaves nothing once no sync names it", async ({ expect }) => {
    await using host = await hostWithAddress();
    const { edge, stateDir } = host.fixture;
    const one = pod();
    await run(host, one);
    const volume = join(stateDir, "pods", one.workerId);
    expect(existsSync(volume)).toBe(true);
    edge.podVolumes = [];
    edge.assign();
    await edge.until(() => edge.syncs.at(-1)?.workers.length === 0 || undefined);
    await host.fixture.logged("pod_volume_removed");
    expect(existsSync(volume)).toBe(false);
  });

  test("whose program exits starts again, and says why it ended", async ({ expect }) => {
    await using host = await hostWithAddress();
    const one = pod();
    const port = portOf(await run(host, one));
    await listening(host);
    await call(port, "/exit").catch(() => "hung up");
    const { fields } = await host.fixture.logged("worker_failed");
    expect(fields["reason"]).toContain("exited with code 3");
    await host.fixture.edge.until(() => upsOf(host) > 1 || undefined);
    expect(await call(port, "/absent")).toBe("absent");
  });

  test("reports how much of its CPUs and its memory it uses", async ({ expect }) => {
    await using host = await ContainerHost.start({}, { podUseMs: 1_000, edgeHoldMs: 500 });
    const limits = { cpuMilli: 200, memoryMb: 512 };
    const busy = "const held = Buffer.alloc(128e6, 1); for (;;) held[0] += 1";
    const dockerArgs = JSON.stringify({ entrypoint: [], cmd: ["node", "-e", busy] });
    const one = pod({}, { limits, dockerArgs, gpuIndexes: [] }); // with GPUs it might use more
    await run(host, one);
    const use = await host.fixture.edge.until(() => {
      const { container } = host.fixture.edge.syncs.at(-1)?.workers[0] ?? {};
      return (container?.cpuPercent ?? 0) > 80 ? container : undefined;
    });
    expect(use.cpuPercent).toBeLessThan(120);
    expect(use.memoryPercent).toBeGreaterThan(20);
    expect(use.memoryPercent).toBeLessThan(60);
  });

  test("has no published port where its host has no address", async ({ expect }) => {
    await using host = await ContainerHost.start();
    const report = await run(host, pod());
    expect(report.container?.ports).toEqual([]);
  });
});
