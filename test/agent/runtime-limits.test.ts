/** Disk, memory, CPU, root's rights and network volumes of real containers. */
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Dockerode from "dockerode";
import { execa } from "execa";
import { beforeAll, describe, test as base } from "vitest";
import { DockerRuntime, type DockerRuntimeOptions } from "../../node-agent/runtime/docker/docker-runtime.ts";
import type { WorkerSpec } from "../../node-agent/runtime/interface/runtime.ts";
import { Volumes } from "../../node-agent/disk/volumes.ts";
import { ensureTestImage, isDockerAvailable, TEST_IMAGE } from "../support/docker.ts";
import { ExitLog, printed, shell, workerSpec } from "./runtime-conformance.ts";

const RUNTIME = fileURLToPath(new URL("../../node-agent/runtime/docker/docker-runtime.ts", import.meta.url));

const hasDocker = await isDockerAvailable();
const isRoot = process.getuid?.() === 0;
const docker = new Dockerode();

/** A line of a script: there is a user without rights. */
const OTHER_USER = "echo other:x:1000:1000::/tmp:/bin/sh >> /etc/passwd";

type World = {
  readonly networkName: string;
  readonly volumes: string;
  open(options?: Partial<DockerRuntimeOptions>): DockerRuntime;
  /** Runs a worker to its end: how it ended, and what it printed. */
  run(
    script: string,
    changes?: Partial<WorkerSpec>,
    runtime?: DockerRuntime,
  ): Promise<{ reason: string; output: string }>;
};

const test = base.extend<{ world: World }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the fixture's needs from the pattern
  world: async ({}, use) => {
    const networkName = `edgerun-test-${randomUUID().slice(0, 8)}`;
    const directory = await mkdtemp(join(tmpdir(), "edgerun-volumes-"));
    const volumes = join(directory, "volumes");
    const opened: DockerRuntime[] = [];
    const open = (options: Partial<DockerRuntimeOptions> = {}): DockerRuntime => {
      const own = { hostId: networkName, networkName, hasRealGpus: false, isOpenNetworkAllowed: !isRoot };
      const shared = new Volumes({ directory: volumes, createsMissing: false });
      const runtime = new DockerRuntime({ ...own, diskCheckMs: 50, volumes: shared, ...options });
      opened.push(runtime);
      return runtime;
    };
    await use({
      networkName,
      volumes,
      open,
      async run(script, changes = {}, runtime = open()) {
        const exits = new ExitLog(runtime);
        const worker = workerSpec(TEST_IMAGE, shell(script), changes);
        await runtime.start(worker);
        const { reason } = await exits.of(worker.workerId);
        exits.stop();
        return { reason, output: (await runtime.lastLines(worker.workerId, 50)).join("\n") };
      },
    });
    const cleaner = open();
    for (const { workerId } of await cleaner.list()) await cleaner.remove(workerId);
    await cleaner.removeNetwork();
    for (const runtime of opened) await runtime.close();
    await rm(directory, { recursive: true, force: true });
  },
});

describe.runIf(hasDocker)("a container", () => {
  beforeAll(async () => {
    await ensureTestImage();
  });

  describe("with a disk of 1 GB", () => {
    test("is ended when it has written more, with that reason", async ({ world, expect }) => {
      const { reason } = await world.run("busybox fallocate -l 1200000000 /full && sleep 1000");
      expect(reason).toBe("was ended: it wrote 1.2 GB, containerDiskInGb is 1");
    });

    test("is ended when it has written that to a volume of its image", async ({ world, expect }) => {
      const imageName = `edgerun-test/volume-image:${randomUUID().slice(0, 8)}`;
      const { stdout: draft } = await execa("docker", ["create", TEST_IMAGE, "true"]);
      await execa("docker", ["commit", "--change", "VOLUME /data", draft, imageName]);
      await execa("docker", ["rm", draft]);
      const { reason } = await world.run("busybox fallocate -l 1200000000 /data/full && sleep 1000", {
        imageName,
      });
      expect(reason).toBe("was ended: it wrote 1.2 GB, containerDiskInGb is 1");
      const runtime = world.open();
      for (const { workerId } of await runtime.list()) await runtime.remove(workerId);
      await docker.getImage(imageName).remove();
    });

    test("is ended also when an earlier agent has started it", async ({ world, expect }) => {
      const earlier = world.open();
      const gate = join(world.volumes, "shared");
      await mkdir(gate, { recursive: true });
      const worker = workerSpec(
        TEST_IMAGE,
        shell(
          "until [ -e /runpod-volume/go ]; do sleep 0.05; done; busybox fallocate -l 1200000000 /full; sleep 1000",
        ),
        { networkVolumeIds: ["shared"] },
      );
      await earlier.start(worker);
      await earlier.close();
      const next = world.open();
      const exits = new ExitLog(next);
      await next.admit(1);
      await writeFile(join(gate, "go"), "");
      expect(await exits.of(worker.workerId)).toMatchObject({
        reason: expect.stringMatching(/containerDiskInGb\b.*\b1\b/),
      });
      exits.stop();
    });

    test("may delete from a volume that was too full, once it was ended for that, and is ended when it writes", async ({
      world,
      expect,
    }) => {
      const volumePath = join(world.volumes, "own");
      await mkdir(volumePath, { recursive: true });
      const pod = { ports: [], listenAddress: "0.0.0.0", volumePath, volumeInGb: 1, volumeMountPath: "/own" };
      const script = `[ -e /own/full ] || busybox fallocate -l 1200000000 /own/full
        until [ -e /own/write ]; do sleep 0.05; done; busybox fallocate -l 300000000 /own/write; sleep 1000`;
      const worker = workerSpec(TEST_IMAGE, shell(script), { pod, containerDiskInGb: 2 });
      const runtime = world.open();
      const exits = new ExitLog(runtime);
      const endOf = async () => (await exits.of(worker.workerId)).reason;
      await runtime.start(worker);
      expect(await endOf()).toMatch(/^was ended: it wrote 1.2 GB, volumeInGb is 1/);
      await runtime.remove(worker.workerId);
      exits.stop();
      await runtime.start(worker);
      // Another container that is too full is measured after this one, and ended.
      await world.run("busybox fallocate -l 1200000000 /full && sleep 1000", {}, runtime);
      expect((await runtime.list()).map(({ isRunning }) => isRunning)).toContain(true);
      const again = new ExitLog(runtime);
      await writeFile(join(volumePath, "write"), "");
      expect(await again.of(worker.workerId)).toMatchObject({
        reason: expect.stringMatching(/^was ended: it wrote 1.5 GB, volumeInGb is 1/),
      });
      again.stop();
    });

    test("lives on with less, and with more on a larger disk", async ({ world, expect }) => {
      const earlier = world.open();
      const [less, more] = [
        workerSpec(TEST_IMAGE, shell("busybox fallocate -l 900000000 /most; echo written; sleep 1000")),
        workerSpec(TEST_IMAGE, shell("busybox fallocate -l 1200000000 /more; echo written; sleep 1000"), {
          containerDiskInGb: 2,
        }),
      ];
      for (const worker of [less, more]) {
        await earlier.start(worker);
        await printed(expect, earlier, worker.workerId, "written");
      }
      await earlier.close();
      const next = world.open(); // it measures all it finds, and ends this one
      await world.run("busybox fallocate -l 1200000000 /full && sleep 1000", {}, next);
      const running = (await next.list())
        .filter(({ isRunning }) => isRunning)
        .map(({ workerId }) => workerId);
      expect(running.toSorted()).toEqual([less.workerId, more.workerId].toSorted());
    });
  });

  test("has the memory and the CPU that it was given", async ({ world, expect }) => {
    const runtime = world.open();
    const worker = workerSpec(TEST_IMAGE, "sleep 1000", { limits: { cpuMilli: 500, memoryMb: 64 } });
    await runtime.start(worker);
    const { HostConfig, Id } = await docker.getContainer(`edgerun-${worker.workerId}`).inspect();
    expect(HostConfig).toMatchObject({ Memory: 64 * 1024 * 1024, NanoCpus: 500_000_000, OomScoreAdj: 500 });
    expect(Id).toHaveLength(64);
  });

  test("allows root to give files away, become another user and end its processes", async ({
    world,
    expect,
  }) => {
    const { reason, output } = await world.run(
      [
        "set -e",
        OTHER_USER,
        "touch /mine; busybox chown other /mine; busybox chmod 600 /mine; echo hello > /mine; cat /mine",
        'busybox su other -c "id -u; until [ -e /go ]; do sleep 0.05; done" & sleeper=$!',
        "kill -0 $sleeper; touch /go; wait $sleeper",
        'busybox su other -c "sleep 1000" & other=$!',
        "until [ $(busybox stat -c %u /proc/$other) = 1000 ]; do sleep 0.05; done; kill $other",
      ].join("; "),
    );
    expect({ reason, output }).toEqual({
      reason: "exited with code 0: its start command came to its end",
      output: "hello\n1000",
    });
  });

  describe("with a network volume", () => {
    const wants = { networkVolumeIds: ["absent", "models"] };

    test("shares its files with other workers, also after they were restarted", async ({ world, expect }) => {
      await mkdir(join(world.volumes, "models"), { recursive: true });
      await world.run("echo weights > /runpod-volume/file", wants);
      const { output } = await world.run("cat /runpod-volume/file; echo $EDGERUN_VOLUME", wants);
      expect(output).toBe("weights\n/runpod-volume");
      expect(await readFile(join(world.volumes, "models", "file"), "utf8")).toBe("weights\n");
    });

    test("gets what a link leads to, and nothing above it", async ({ world, expect }) => {
      const elsewhere = join(world.volumes, "..", "elsewhere");
      await mkdir(join(elsewhere, "models"), { recursive: true });
      await writeFile(join(elsewhere, "secret"), "of the host");
      await mkdir(world.volumes);
      await symlink(join(elsewhere, "models"), join(world.volumes, "models"));
      const script = [
        "busybox ln -s ../secret /runpod-volume/up",
        `busybox ln -s ${join(elsewhere, "secret")} /runpod-volume/far`,
        "cat /runpod-volume/../secret /runpod-volume/up /runpod-volume/far",
        "echo over",
      ].join("; ");
      const { output } = await world.run(script, wants);
      expect(output).not.toContain("of the host");
      expect(output.match(/No such file/g)).toHaveLength(3);
      expect(output).toContain("over");
      expect(await readFile(join(elsewhere, "models", "far"), "utf8")).toBe("of the host"); // the link is there
    });

    test("is not started where the volume is not, or where its link leads nowhere", async ({
      world,
      expect,
    }) => {
      await mkdir(world.volumes);
      await symlink(join(world.volumes, "..", "nowhere"), join(world.volumes, "models"));
      const runtime = world.open();
      const worker = workerSpec(TEST_IMAGE, "true", wants);
      await expect(runtime.start(worker)).rejects.toThrow(/absent.*models.*edgerun-agent volume add absent/);
      expect(await runtime.list()).toEqual([]);
    });

    test("gets a new one where the agent may make it, and any user may write there", async ({
      world,
      expect,
    }) => {
      const volumes = new Volumes({ directory: world.volumes, createsMissing: true });
      const runtime = world.open({ volumes });
      const script = `${OTHER_USER}; busybox su other -c "touch /runpod-volume/file" && echo written`;
      const { output } = await world.run(script, { networkVolumeIds: ["fresh"] }, runtime);
      expect(output).toBe("written");
    });
  });

  describe("and its network", () => {
    test("a network of an earlier version is recreated, and one in use is reported", async ({
      world,
      expect,
    }) => {
      await docker.createNetwork({ Name: world.networkName, Driver: "bridge" });
      const runtime = world.open();
      await runtime.start(workerSpec(TEST_IMAGE, "sleep 1000"));
      const { Options } = await docker.getNetwork(world.networkName).inspect();
      expect(Options).toMatchObject({ "com.docker.network.bridge.enable_icc": "false" });

      const inUse = `${world.networkName}-old`;
      await docker.createNetwork({ Name: inUse, Driver: "bridge" });
      const { stdout: user } = await execa("docker", [
        "run",
        "-d",
        "--network",
        inUse,
        TEST_IMAGE,
        "sleep",
        "1000",
      ]);
      const other = world.open({ networkName: inUse });
      await expect(other.start(workerSpec(TEST_IMAGE, "true"))).rejects.toThrow(
        /containers still use it. Remove those/,
      );
      await execa("docker", ["rm", "-f", user]);
      await other.removeNetwork();
    });

    test.runIf(isRoot)(
      "where no rules can be set a worker starts only if that is allowed",
      async ({ world, expect }) => {
        const worker = JSON.stringify(workerSpec(TEST_IMAGE, "sleep 1000"));
        const script = `
        const { DockerRuntime } = await import(${JSON.stringify(RUNTIME)});
        const own = { hostId: "${world.networkName}", networkName: "${world.networkName}", hasRealGpus: false };
        for (const isOpenNetworkAllowed of [false, true]) {
          const runtime = new DockerRuntime({ ...own, isOpenNetworkAllowed });
          await runtime.start(${worker}).then(() => console.log("started"), (error) => console.log(error.message));
        }
        process.exit();`;
        const powerless = [
          "--bounding-set=-net_admin",
          process.execPath,
          "--input-type=module",
          "-e",
          script,
        ];
        const { stdout } = await execa("setpriv", powerless);
        const [message, outcome] = stdout.split("\n");
        expect(message).toMatch(/--allow-open-network/);
        expect(outcome).toBe("started");
      },
    );
  });
});
