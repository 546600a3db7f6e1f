/** Tunnels into real containers. */
import { randomUUID } from "node:crypto";
import Dockerode from "dockerode";
import { afterAll, beforeAll, describe, onTestFinished, test } from "vitest";
import { DockerRuntime } from "../../node-agent/runtime/docker/docker-runtime.ts";
import { DockerLink } from "../support/docker-link.ts";
import { ensureTestImage, isDockerAvailable, TEST_IMAGE } from "../support/docker.ts";
import { inTurn } from "../support/turn.ts";
import { until } from "../support/until.ts";
import { workerSpec } from "./runtime-conformance.ts";
import { describeTunnels, isRunning, type TunnelPlace } from "./tunnel-conformance.ts";

const hasDocker = await isDockerAvailable();
const networkName = `edgerun-test-${randomUUID().slice(0, 8)}`;
const docker = new Dockerode();
const options = { hostId: networkName, networkName, hasRealGpus: false };

async function open(): Promise<TunnelPlace> {
  const runtime = new DockerRuntime({ ...options, isOpenNetworkAllowed: process.getuid?.() !== 0 });
  onTestFinished(async () => {
    await Promise.all((await runtime.list()).map(({ workerId }) => runtime.remove(workerId)));
    await runtime.close();
  });
  return {
    runtime,
    async startWorker(port) {
      const command = port === undefined ? "sleep 1000" : `busybox httpd -f -p 127.0.0.1:${port} -h /tmp`;
      const spec = workerSpec(TEST_IMAGE, command, { env: { WORKER_MARK: "marked" } });
      await runtime.start(spec);
      await until(async () => {
        const sockets = await runtime.listening(spec.workerId);
        return port === undefined || sockets?.some((socket) => socket.port === port);
      }, "the server of the worker");
      return spec.workerId;
    },
    tool: (command) => `busybox ${command}`,
  };
}

beforeAll(async () => {
  if (hasDocker) await inTurn("images", () => ensureTestImage(docker));
});

afterAll(async () => {
  if (hasDocker) await new DockerRuntime(options).removeNetwork();
});

if (hasDocker) describeTunnels("in a container", open);

describe.runIf(hasDocker)("a command in a container", () => {
  const STATUS = 'grep -E "^(Cap|NoNewPrivs|Seccomp:|Groups|Uid)" /proc/$1/status';

  async function output(runtime: TunnelPlace["runtime"], workerId: string, command: readonly string[]) {
    const chunks: Uint8Array[] = [];
    const running = await runtime.exec(workerId, {
      command: [...command],
      terminal: null,
      environment: {},
      onOutput: (_, bytes) => void chunks.push(bytes),
    });
    running.resume();
    await running.exit;
    return Buffer.concat(chunks).toString();
  }

  test("has the rights of the container and no more", async ({ expect }) => {
    const place = await open();
    const { runtime } = place;
    const workerId = await place.startWorker();
    const [own, first] = await Promise.all(
      ["self", "1"].map((pid) => output(runtime, workerId, ["sh", "-c", STATUS, "sh", pid])),
    );
    expect(own).toMatch(/NoNewPrivs:\s+1/);
    expect(own).toBe(first);
    expect(await output(runtime, workerId, ["sh", "-c", "ulimit -c"])).toBe("0\n");
  });

  test("does not start in a frozen container, or in one that is gone", async ({ expect }) => {
    const place = await open();
    const { runtime } = place;
    const workerId = await place.startWorker(18_091);
    await runtime.freeze(workerId);
    await expect(output(runtime, workerId, ["echo"])).rejects.toThrow("standby");
    await expect(runtime.connect(workerId, 18_091)).rejects.toThrow("standby");
    await runtime.remove(workerId);
    await expect(output(runtime, workerId, ["echo"])).rejects.toThrow("does not run");
    await expect(runtime.connect(workerId, 18_091)).rejects.toThrow("does not run");
  });

  test("is ended and lost when Docker breaks the connection, and cannot be started while it is away", async ({
    expect,
  }) => {
    const workerId = await (await open()).startWorker();
    await using link = await DockerLink.open();
    const runtime = new DockerRuntime({ ...options, docker: new Dockerode({ socketPath: link.path }) });
    const mark = `${100_000 + Math.floor(Math.random() * 800_000)}.7`;
    const request = { terminal: null, environment: {}, onOutput() {} };
    const running = await runtime.exec(workerId, { ...request, command: ["sleep", mark] });
    running.resume();
    await until(() => isRunning(`sleep ${mark}`), "it runs");
    await link.cut();
    expect(await running.exit).toBe("lost");
    expect(await isRunning(`sleep ${mark}`)).toBe(false);
    const start = runtime.exec(workerId, { ...request, command: ["true"] });
    await expect(start).rejects.toMatchObject({ loss: "lost" });
    await runtime.close();
  });

  test("leaves what has left its session alone", async ({ expect }) => {
    const place = await open();
    const { runtime } = place;
    const workerId = await place.startWorker();
    const mark = `${100_000 + Math.floor(Math.random() * 800_000)}.5`;
    const script = `(setsid sleep ${mark}1 &) ; sleep ${mark}2 & sleep ${mark}3`;
    const running = await runtime.exec(workerId, {
      command: ["sh", "-c", script],
      terminal: null,
      environment: {},
      onOutput() {},
    });
    const isThere = (which: number) => isRunning(`sleep ${mark}${which}`);
    await until(async () => (await isThere(1)) && (await isThere(2)) && (await isThere(3)), "all of it");
    await running.kill();
    expect([await isThere(1), await isThere(2), await isThere(3)]).toEqual([true, false, false]);
    expect(await running.exit).not.toBe(0);
  });
});
