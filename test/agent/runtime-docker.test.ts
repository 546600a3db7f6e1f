import { randomUUID } from "node:crypto";
import Dockerode from "dockerode";
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from "vitest";
import { DockerRuntime, type DockerRuntimeOptions } from "../../node-agent/runtime/docker/docker-runtime.ts";
import type { WorkerSpec } from "../../node-agent/runtime/interface/runtime.ts";
import { removeWorkerNetwork } from "../../node-agent/runtime/create-runtime.ts";
import { DockerLink } from "../support/docker-link.ts";
import { ensureTestImage, isDockerAvailable, TEST_IMAGE } from "../support/docker.ts";
import { ImageRegistry } from "../support/image-registry.ts";
import {
  describeRuntime,
  ExitLog,
  printed,
  type RuntimeFixture,
  shell,
  workerSpec,
} from "./runtime-conformance.ts";

const hasDocker = await isDockerAvailable();
const docker = new Dockerode();
/** Who is not root sets no rules; what they keep away is tried in hostile-container.test.ts. */
const isRoot = process.getuid?.() === 0;

/** One for all tests of this file: to make one and its rules takes as long as a test. */
const networkName = `edgerun-test-${randomUUID().slice(0, 8)}`;

type DockerFixture = Omit<RuntimeFixture, "runtime" | "reopen"> & {
  readonly runtime: DockerRuntime;
  readonly hostId: string;
  reopen(options?: Partial<DockerRuntimeOptions>): DockerRuntime;
};

async function openFixture(): Promise<DockerFixture> {
  const hostId = `${networkName}-${randomUUID().slice(0, 8)}`;
  const opened: DockerRuntime[] = [];
  const reopen = (options: Partial<DockerRuntimeOptions> = {}): DockerRuntime => {
    const own = { hostId, networkName, hasRealGpus: false, isOpenNetworkAllowed: !isRoot };
    const runtime = new DockerRuntime({ ...own, allowedRegistries: ["127.0.0.1"], ...options });
    opened.push(runtime);
    return runtime;
  };
  return {
    runtime: reopen(),
    hostId,
    imageName: TEST_IMAGE,
    reopen,
    fetchCommand: (url) => `wget -q -O - ${url}`,
    async traces(workerId) {
      const filters = { label: [`edgerun.worker=${workerId}`] };
      return (await docker.listContainers({ all: true, filters })).map((container) => container.Id);
    },
    async dispose() {
      const cleaner = reopen();
      await Promise.all((await cleaner.list()).map(({ workerId }) => cleaner.remove(workerId)));
      for (const runtime of opened) await runtime.close();
    },
  };
}

describe.runIf(hasDocker)("with Docker", () => {
  let fixture: DockerFixture;

  beforeAll(async () => {
    await ensureTestImage();
  });
  afterAll(() => removeWorkerNetwork(networkName));

  describeRuntime("docker runtime", openFixture);

  describe("docker runtime, on its own", () => {
    beforeEach(async () => {
      fixture = await openFixture();
    });
    afterEach(() => fixture.dispose());

    const spec = (dockerArgs: string, changes: Partial<WorkerSpec> = {}): WorkerSpec =>
      workerSpec(TEST_IMAGE, dockerArgs, changes);

    /** Output of a worker that runs to its end. */
    async function outputOf(runtime: DockerRuntime, script: string): Promise<string> {
      const exits = new ExitLog(runtime);
      const worker = spec(shell(script));
      await runtime.start(worker);
      await exits.of(worker.workerId);
      exits.stop();
      return (await runtime.lastLines(worker.workerId, 200)).join("\n");
    }

    describe("isolation", () => {
      test("a worker's root has six capabilities inside its own container and can gain no privileges", async ({
        expect,
      }) => {
        const status = await outputOf(fixture.reopen(), "cat /proc/self/status");
        for (const set of ["CapPrm", "CapEff", "CapBnd"]) {
          const [, bits = ""] = new RegExp(`^${set}:\\s+([0-9a-f]+)$`, "m").exec(status) ?? [];
          expect(Number.parseInt(bits, 16), set).toBe(0b1110_1011); // CHOWN to SETUID but those about reading and setgid
        }
        expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
        expect(status).toMatch(/^Seccomp:\s+2$/m);
      });

      test("a worker that starts too many processes hurts only itself", async ({ expect }) => {
        const runtime = fixture.reopen({ pidsLimit: 10 });
        const output = await outputOf(
          runtime,
          "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 30 & done; echo over",
        );
        expect(output).toMatch(/can't fork/);
      });

      test("a worker that needs too much memory is reported as out of memory", async ({ expect }) => {
        const runtime = fixture.reopen();
        const exits = new ExitLog(runtime);
        const worker = spec(shell("text=a; while :; do text=$text$text; done"), {
          limits: { cpuMilli: 500, memoryMb: 16 },
        });
        await runtime.start(worker);
        expect(await exits.of(worker.workerId)).toEqual({
          workerId: worker.workerId,
          exitCode: 137,
          reason: "ran out of memory (it may have 16 MB) and was killed (exit code 137)",
        });
      });

      test("a worker is reached from its host but not from another worker", async ({ expect }) => {
        const { runtime } = fixture;
        const listener = spec("busybox httpd -f -p 8000 -h /etc");
        await runtime.start(listener);
        const container = await docker.getContainer(`edgerun-${listener.workerId}`).inspect();
        expect(Object.keys(container.NetworkSettings.Networks)).toEqual([networkName]);
        expect(container.Mounts).toEqual([]);
        const address = container.NetworkSettings.Networks[networkName]?.IPAddress ?? "";

        const url = `http://${address}:8000/passwd`;
        const fetchText = (): Promise<string> => fetch(url).then((response) => response.text());
        await expect.poll(() => fetchText().catch(() => "")).toContain("root");
        const output = await outputOf(runtime, `busybox timeout 1 wget -q -O - ${url} || echo not reached`);
        expect(output).toContain("not reached");
        expect(output).not.toContain("root");
      });

      test("containers of another host id are neither seen nor touched", async ({ expect }) => {
        const other = fixture.reopen({ hostId: `${fixture.hostId}-other` });
        const worker = spec("sleep 1000");
        await other.start(worker);
        expect(await fixture.runtime.list()).toEqual([]);
        await fixture.runtime.stop(worker.workerId, 0);
        await fixture.runtime.remove(worker.workerId);
        expect(await fixture.runtime.lastLines(worker.workerId, 5)).toEqual([]);
        await expect(fixture.runtime.start(worker)).rejects.toThrow(/already in use/);
        expect(await other.list()).toMatchObject([{ isRunning: true }]);
        await other.remove(worker.workerId);
      });
    });

    describe("images", () => {
      test("a start without the image is refused, and leaves nothing", async ({ expect }) => {
        const worker = spec("sleep 1", { imageName: "edgerun-test/absent:1" });
        await expect(fixture.runtime.start(worker)).rejects.toThrow(/absent/);
        expect(await fixture.traces(worker.workerId)).toEqual([]);
      });

      test("an image whose registry can not be reached fails with what to do", async ({ expect }) => {
        const imageName = "127.0.0.1:9/team/model:1";
        const outcome = await fixture.runtime.prepare(spec("", { imageName }), () => undefined);
        expect(outcome).toMatchObject({
          kind: "failed",
          detail: expect.stringMatching(/127\.0\.0\.1:9\/team\/model:1/),
        });
      });

      test("a private image is pulled with its credentials, with progress in layers", async ({ expect }) => {
        const login = { username: "ada", password: "secret" };
        const registry = await ImageRegistry.open(login);
        const imageName = registry.image("team/model:1");
        const details: string[] = [];
        const request = spec("", { imageName, registryAuth: login });
        try {
          const outcome = await fixture.runtime.prepare(request, ({ detail }) =>
            details.push(detail ?? "here"),
          );
          expect(outcome).toEqual({ kind: "prepared" });
          expect(details.at(0)).toBe(`pulling image ${imageName}`);
          // Docker reports bytes ten times a second at most: of layers that come at once, perhaps never.
          expect(details.at(-1)).toBe("here");
          expect(details.at(-2)).toMatch(/^pulling image .*: 2 of 2 layers(, \d+ of \d+ bytes)?$/);
        } finally {
          await docker.getImage(imageName).remove();
          await registry.close();
        }
      });

      test("wrong credentials, and no credentials, fail with where to set them", async ({ expect }) => {
        const registry = await ImageRegistry.open({ username: "ada", password: "secret" });
        const imageName = registry.image("team/model:1");
        const wrong = { username: "ada", password: "wr0ng", name: "team" };
        for (const [registryAuth, reason] of [
          [wrong, /^The registry refused the credentials 'team' for image .*team\/model:1\./],
          [null, /team\/model:1 is refused.*registry credentials/],
        ] as const) {
          const request = spec("", { imageName, registryAuth });
          const outcome = await fixture.runtime.prepare(request, () => undefined);
          const detail = expect.stringMatching(reason);
          expect(outcome).toMatchObject({ kind: "failed", detail });
          expect(JSON.stringify(outcome)).not.toContain("wr0ng");
        }
        await registry.close();
      });

      test("an image that its registry does not have fails with its name and what to check", async ({
        expect,
      }) => {
        const registry = await ImageRegistry.open();
        for (const name of ["team/model:2", "team/absent"]) {
          const imageName = registry.image(name);
          const outcome = await fixture.runtime.prepare(spec("", { imageName }), () => undefined);
          const detail = expect.stringContaining(imageName);
          expect(outcome).toMatchObject({ kind: "failed", detail });
        }
        await registry.close();
      });

      test("without a Docker daemon preparing fails with what to do", async ({ expect }) => {
        const unreachable = fixture.reopen({ docker: new Dockerode({ socketPath: "/nowhere/docker.sock" }) });
        const outcome = await unreachable.prepare(spec(""), () => undefined);
        expect(outcome).toMatchObject({ detail: expect.stringContaining("Check that its daemon runs") });
      });

      test.for(["Not An Image", "UPPER/case:1", "../../containers/json", ""])(
        "the name '%s' fails with how to write one",
        async (imageName, { expect }) => {
          const outcome = await fixture.runtime.prepare(spec("", { imageName }), () => undefined);
          expect(outcome).toMatchObject({
            kind: "failed",
            detail: expect.stringContaining("[registry/]name[:tag]"),
          });
        },
      );
    });

    test("a container that was created but never started is started, not taken for one that ended", async ({
      expect,
    }) => {
      const { runtime } = fixture;
      const worker = spec("sleep 1000");
      await runtime.agentAddress();
      const Labels = { "edgerun.host": fixture.hostId, "edgerun.worker": worker.workerId };
      await docker.createContainer({
        name: `edgerun-${worker.workerId}`,
        Image: TEST_IMAGE,
        Cmd: ["true"],
        Labels,
      });
      expect(await runtime.list()).toMatchObject([{ isRunning: false, exitCode: null }]);
      await runtime.start(worker);
      expect(await runtime.list()).toMatchObject([{ isRunning: true, exitCode: null }]);
    });

    test("what ends while the event stream is broken is reported after it is back, once", async ({
      expect,
    }) => {
      const link = await DockerLink.open();
      const runtime = fixture.reopen({ docker: new Dockerode({ socketPath: link.path }) });
      const exits = new ExitLog(runtime);
      const [ended, vanished] = [spec("sleep 1000"), spec("sleep 1000")];
      await runtime.start(ended);
      await runtime.start(vanished);
      await printed(expect, runtime, (await ready(runtime)).workerId, "ready");

      await link.cut();
      await fixture.runtime.stop(ended.workerId, 0);
      await fixture.runtime.remove(vanished.workerId);
      await link.restore();

      expect(await exits.of(ended.workerId)).toMatchObject({ exitCode: 137 });
      expect(await exits.of(vanished.workerId)).toMatchObject({ exitCode: null });
      const last = spec("true");
      await runtime.start(last);
      await exits.of(last.workerId);
      expect(exits.all).toHaveLength(3);
      exits.stop();
      await link.close();
    });

    async function ready(runtime: DockerRuntime): Promise<WorkerSpec> {
      const worker = spec(shell("echo ready; sleep 1000"));
      await runtime.start(worker);
      return worker;
    }
  });
});
