/** What `edgerun-agent uninstall` takes off a host: workers of this host, and the network of the workers. */
import { randomUUID } from "node:crypto";
import Dockerode from "dockerode";
import { execa } from "execa";
import { describe, test } from "vitest";
import { DockerRuntime } from "../../node-agent/runtime/docker/docker-runtime.ts";
import { removeAllWorkers, removeWorkerNetwork } from "../../node-agent/runtime/create-runtime.ts";
import { ensureTestImage, isDockerAvailable } from "../support/docker.ts";

const docker = new Dockerode();

describe.runIf(await isDockerAvailable())("on a host with Docker", () => {
  test("a host's workers are removed, then their network; those of another host keep both", async ({
    expect,
  }) => {
    const imageName = await ensureTestImage();
    const mark = randomUUID().slice(0, 8);
    const networkName = `edgerun-test-${mark}`;
    const start = async (hostId: string, workerId: string) => {
      const runtime = new DockerRuntime({ hostId, hasRealGpus: false, networkName });
      const dockerArgs = "sleep 1000";
      const worker = { workerId, endpointId: "e", revision: 1, imageName, dockerArgs, env: {} };
      await runtime.start({ ...worker, containerDiskInGb: 1, gpuIndexes: [], registryAuth: null });
      await runtime.close();
    };
    const namesOf = async () =>
      (await docker.listContainers({ all: true, filters: { name: [mark] } })).map(({ Names }) => Names[0]);
    const [mine, other] = [`mine-${mark}`, `other-${mark}`];
    try {
      await start(mine, `w1-${mark}`);
      await start(mine, `w2-${mark}`);
      await start(other, `w3-${mark}`);

      expect(await removeAllWorkers("docker", { hostId: mine, stateDir: "/nowhere" })).toBe(2);
      expect(await namesOf()).toEqual([`/edgerun-w3-${mark}`]);
      expect(await removeWorkerNetwork(networkName)).toBe(false);

      expect(await removeAllWorkers("docker", { hostId: other, stateDir: "/nowhere" })).toBe(1);
      expect(await removeWorkerNetwork(networkName)).toBe(true);
      expect(await docker.listNetworks({ filters: { name: [networkName] } })).toEqual([]);
      expect(await removeWorkerNetwork(networkName)).toBe(true);
    } finally {
      for (const hostId of [mine, other]) await removeAllWorkers("docker", { hostId, stateDir: "/nowhere" });
      await removeWorkerNetwork(networkName);
    }
  });

  test.runIf(process.getuid?.() === 0)(
    "with a network go its firewall rules, all of them, and none of another network",
    async ({ expect }) => {
      const mark = randomUUID().slice(0, 8);
      const [gone, stays] = [`er-a-${mark}`, `er-b-${mark}`];
      try {
        for (const networkName of [gone, stays]) {
          const runtime = new DockerRuntime({ hostId: networkName, hasRealGpus: false, networkName });
          await runtime.admit(4_000);
          await runtime.close();
        }
        const before = await rulesOf(stays);
        expect(before.length).toBeGreaterThan(50); // two tables of two families
        expect(await rulesOf(gone)).toHaveLength(before.length);

        expect(await removeWorkerNetwork(gone)).toBe(true);
        expect(await rulesOf(gone)).toEqual([]);
        expect(await rulesOf(stays)).toEqual(before);
      } finally {
        for (const networkName of [gone, stays]) await removeWorkerNetwork(networkName);
      }
    },
  );
});

/** All lines of the packet filter that name a bridge. */
async function rulesOf(bridge: string): Promise<readonly string[]> {
  const printed = await Promise.all(["iptables-save", "ip6tables-save"].map((command) => execa(command)));
  return printed.flatMap(({ stdout }) => stdout.split("\n")).filter((line) => line.includes(bridge));
}
