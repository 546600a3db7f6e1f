/** Containers that share GPUs, with GPUs that are not there: who takes more than declared is ended, the others go on. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, test } from "vitest";
import { gpuMemoryMbOf } from "../../src/domain/placement/gpu-memory.ts";
import { readGpuProcesses } from "../../node-agent/gpu/gpu-processes.ts";
import { assignment } from "../support/agent-fixture.ts";
import { ContainerHost } from "../support/container-host.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { dockerWithoutDevices, FAKE_MEMORY_FILE, makeNvidiaSmi } from "../support/fake-gpus.ts";
import { ensureScriptImage } from "../support/script-image.ts";
import { inTurn } from "../support/turn.ts";

const hasDocker = await isDockerAvailable();
const WORKERS = 12;
const GIGABYTES = 4;

const card = (index: number) => ({
  ...{ index, name: "NVIDIA L4", tier: "AMPERE_24", memoryMb: 23_034, isSimulated: false },
});

describe.runIf(hasDocker)("twelve containers on two cards", () => {
  let scriptImage = "";

  beforeAll(async () => {
    scriptImage = await inTurn("images", () => ensureScriptImage());
  });

  test("run, until one takes more than it has declared: that one is ended, the jobs of the others end well", async ({
    expect,
  }) => {
    const directory = await mkdtemp(join(tmpdir(), "edgerun-gpus-"));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(directory, { recursive: true }));
    const command = await makeNvidiaSmi(join(directory, "bin"));
    const requested = new Map<string, readonly string[]>();
    const host = stack.use(
      await ContainerHost.start(
        {
          hasRealGpus: true,
          docker: dockerWithoutDevices(requested),
          gpuWatch: { intervalMs: 200, readProcesses: () => readGpuProcesses(command) },
        },
        {},
        { gpus: [card(0), card(1)] },
      ),
    );
    const { edge } = host.fixture;
    const gpuMemoryMb = gpuMemoryMbOf({ gpuMemoryGb: GIGABYTES });
    const all = Array.from({ length: WORKERS }, (_, index) => {
      const workerId = `w-${randomUUID().slice(0, 8)}`;
      return assignment({
        workerId,
        endpointId: `endpoint-${index}`,
        imageName: scriptImage,
        dockerArgs: "",
        gpuIndexes: [index % 2],
        gpuMemoryMb,
        env: { [FAKE_MEMORY_FILE]: join(directory, workerId) },
      });
    });
    const use = ({ workerId }: (typeof all)[number], mebibytes: number) =>
      writeFile(join(directory, workerId), `${mebibytes}\n`);
    await Promise.all(all.map((one) => use(one, 3_500)));
    edge.assign(...all);
    for (const { workerId } of all) await edge.worker(workerId, "ready");
    expect([...requested.values()].flat().toSorted()).toEqual([...Array(6).fill("0"), ...Array(6).fill("1")]);

    const [liar, ...honest] = all;
    if (!liar) throw new Error("no worker");
    edge.submit(liar.endpointId, { id: "job-liar", input: { mock_never: 1 } });
    for (const { endpointId, workerId } of honest) {
      edge.submit(endpointId, { id: `job-${workerId}`, input: { mock_delay: 3, mock_return: workerId } });
    }
    await host.fixture.logged("job_delivered", WORKERS);
    await use(liar, 9_000);
    const reason =
      /was ended: it used 9.4 GB of GPU memory, gpuMemoryGb is 4 \(raise it, or let the worker take less\)/;
    expect(await edge.report("job-liar")).toMatchObject({
      kind: "lost",
      reason: expect.stringMatching(reason),
    });
    await use(liar, 3_500);
    for (const { workerId } of honest) {
      expect(await edge.report(`job-${workerId}`)).toMatchObject({ kind: "completed", output: workerId });
    }
    const ended = host.fixture.events.filter(({ event }) => event === "worker_failed");
    expect(ended.map(({ fields }) => fields["workerId"])).toEqual([liar.workerId]);
    await edge.worker(liar.workerId, "ready");
  }, 120_000);
});
