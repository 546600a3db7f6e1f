/** Files of apps in real containers. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, type ExpectStatic, test } from "vitest";
import { EdgeClient } from "../../node-agent/edge/edge-client.ts";
import { DockerRuntime } from "../../node-agent/runtime/docker/docker-runtime.ts";
import type { WorkerSpec } from "../../node-agent/runtime/interface/runtime.ts";
import { removeWorkerNetwork } from "../../node-agent/runtime/create-runtime.ts";
import { ensureFlashImages } from "../../scripts/images/flash-images.ts";
import { ensurePythonImage } from "../../scripts/images/python-image.ts";
import { assignment } from "../support/agent-fixture.ts";
import { archiveOf } from "../support/archive.ts";
import { ContainerHost } from "../support/container-host.ts";
import { ensureTestImage, isDockerAvailable, TEST_IMAGE } from "../support/docker.ts";
import { MemoryImageStore } from "../support/memory-image-store.ts";
import { HOST_TOKEN, ScriptedEdge } from "../support/scripted-edge.ts";
import { inTurn } from "../support/turn.ts";
import { printed, shell, workerSpec } from "./runtime-conformance.ts";

const hasDocker = await isDockerAvailable();
const networkName = `edgerun-test-${randomUUID().slice(0, 8)}`;

const FUNCTIONS = `
import os, sys

def describe(name):
    with open("/app/note.txt") as note:
        text = note.read()
    try:
        open("/app/new.txt", "w")
        written = True
    except OSError:
        written = False
    return {"hello": name, "note": text, "written": written, "directory": os.getcwd(), "path": sys.path[0]}
`;

const MANIFEST = {
  python_version: "3.11",
  resources: {
    greeter: {
      is_load_balanced: false,
      handler_file: "handler_greeter.py",
      functions: [{ name: "describe", module: "main", is_async: false, is_class: false }],
    },
  },
};

const APP = archiveOf([
  { path: "flash_manifest.json", body: JSON.stringify(MANIFEST) },
  {
    path: "handler_greeter.py",
    body: 'from edgerun.runtime import queue_handler\nhandler = queue_handler("greeter")\n',
  },
  { path: "main.py", body: FUNCTIONS },
  { path: "note.txt", body: "as deployed" },
]);

describe.runIf(hasDocker)("files of an app in containers", () => {
  let edge: ScriptedEdge;
  let stateDirectory = "";
  let runtime: DockerRuntime;
  const assigned = new Set<string>();

  beforeAll(async () => {
    await ensureTestImage();
  });
  beforeEach(async () => {
    edge = await ScriptedEdge.start();
    stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-artifacts-"));
    assigned.clear();
    runtime = openRuntime();
  });
  afterEach(async () => {
    for (const { workerId } of await runtime.list()) await runtime.remove(workerId);
    await runtime.close();
    await edge[Symbol.asyncDispose]();
    await rm(stateDirectory, { recursive: true, force: true });
  });
  afterAll(() => removeWorkerNetwork(networkName));

  function openRuntime(bytecodeAfterMs = 3_600_000): DockerRuntime {
    const opened = new DockerRuntime({
      hostId: `${networkName}-${randomUUID().slice(0, 8)}`,
      networkName,
      hasRealGpus: false,
      isOpenNetworkAllowed: true,
      artifacts: { stateDirectory, progressMs: 0, bytecodeAfterMs },
      // Whatever nobody uses goes before anything new comes.
      images: { reserveBytes: 1, freeBytes: async () => 0 },
    });
    opened.configureCache({
      cachedImages: new MemoryImageStore(),
      assignedImages: () => new Set(),
      assignedArtifacts: () => assigned,
      assignedModels: () => new Set(),
      artifacts: new EdgeClient(edge.url, HOST_TOKEN),
    });
    return opened;
  }

  const isKept = (sha256: string): boolean => existsSync(join(stateDirectory, "artifacts", sha256, "app"));

  /** Once it was started it is its container alone that keeps the files. */
  async function started(expect: ExpectStatic, spec: WorkerSpec): Promise<WorkerSpec> {
    const sha256 = spec.artifact?.sha256 ?? "";
    assigned.add(sha256);
    expect(await runtime.prepare(spec, () => {})).toEqual({ kind: "prepared" });
    await runtime.start(spec);
    assigned.delete(sha256);
    return spec;
  }

  test("two workers that are prepared at the same time share one download, and can change nothing of it", async ({
    expect,
  }) => {
    const artifact = edge.artifacts.add(
      archiveOf([
        { path: "main.py", body: "print(1)\n", mode: 0o755 },
        { path: "pkg/__init__.py", body: "" },
      ]),
    );
    const script = [
      "pwd",
      "cat main.py",
      "touch /app/new || echo no new file",
      "echo x >>/app/main.py || echo no change",
      "touch /root/.runpod/artifact.tar.gz || echo no change of the archive",
      "cat /root/.runpod/artifact.tar.gz | sha256sum 2>/dev/null || true",
      "echo path $PYTHONPATH",
      "echo ready; sleep 1000",
    ].join("; ");
    const specs = [1, 2].map(() =>
      workerSpec(TEST_IMAGE, shell(script), { artifact, env: { PYTHONPATH: "/own" } }),
    );
    const details: string[] = [];
    await Promise.all(
      specs.map((spec) => runtime.prepare(spec, ({ detail }) => details.push(detail ?? "there"))),
    );
    expect(edge.artifacts.asked).toEqual([""]);
    expect(details).toContainEqual(expect.stringMatching(/^downloading the app's files \d+ of \d+ bytes$/));
    for (const spec of specs) {
      await runtime.start(spec);
      await printed(expect, runtime, spec.workerId, "ready");
      const lines = await runtime.lastLines(spec.workerId, 50);
      expect(lines).toEqual(
        expect.arrayContaining([
          "/app",
          "print(1)",
          "no new file",
          "no change",
          "no change of the archive",
          "path /app:/own",
        ]),
      );
    }
  });

  test("files stay while a container uses them, frozen or ended, and are removed after the last", async ({
    expect,
  }) => {
    const [first, second, third] = ["1", "2", "3"].map((body) =>
      edge.artifacts.add(archiveOf([{ path: "main.py", body }])),
    );
    const frozen = await started(expect, workerSpec(TEST_IMAGE, "sleep 1000", { artifact: first }));
    await runtime.freeze(frozen.workerId);
    const ended = await started(expect, workerSpec(TEST_IMAGE, "true", { artifact: second }));
    await runtime.stop(ended.workerId, 0);
    const last = await started(expect, workerSpec(TEST_IMAGE, "sleep 1000", { artifact: third }));
    expect([first, second, third].map((one) => isKept(one?.sha256 ?? ""))).toEqual([true, true, true]);

    for (const { workerId } of [frozen, ended, last]) await runtime.remove(workerId);
    assigned.add(second?.sha256 ?? "");
    const fourth = edge.artifacts.add(archiveOf([{ path: "main.py", body: "4" }]));
    await started(expect, workerSpec(TEST_IMAGE, "sleep 1000", { artifact: fourth }));
    expect([first, second, third, fourth].map((one) => isKept(one?.sha256 ?? ""))).toEqual([
      false,
      true,
      false,
      true,
    ]);
  });

  test("a worker finds the bytecode that was made after the start of one before it", async ({ expect }) => {
    await runtime.close();
    runtime = openRuntime(0);
    const { image: imageName } = await inTurn("images", () => ensurePythonImage(() => {}));
    const artifact = edge.artifacts.add(
      archiveOf([
        { path: "pkg/__init__.py", body: "" },
        { path: "pkg/deep.py", body: "print('imported')\n" },
        { path: "broken.py", body: "def\n" },
      ]),
    );
    assigned.add(artifact.sha256);
    const imports = async (): Promise<string> => {
      const script =
        'python3 -v -c "import pkg.deep" 2>&1 | grep -e imported -e /app/pkg/__pycache__; echo ready; sleep 1000';
      const spec = workerSpec(imageName, shell(script), { artifact });
      await started(expect, spec);
      assigned.add(artifact.sha256);
      await printed(expect, runtime, spec.workerId, "ready");
      return (await runtime.lastLines(spec.workerId, 50)).join("\n");
    };
    const CODE = /code object from '\/app\/pkg\/__pycache__\/deep\.[-\w]+\.pyc'/;
    const first = await imports();
    expect(first).toContain("imported");
    expect(first).not.toMatch(CODE);
    const compiled = join(stateDirectory, "artifacts", artifact.sha256, "compiled");
    await expect.poll(() => readdir(compiled).catch(() => []), { timeout: 60_000 }).toHaveLength(1);
    const second = await imports();
    expect(second).toContain("imported");
    expect(second).toMatch(CODE);
  });

  test("a container whose files are missing on the host is not started", async ({ expect }) => {
    const artifact = edge.artifacts.add(archiveOf([{ path: "main.py", body: "1" }]));
    const spec = workerSpec(TEST_IMAGE, "sleep 1000", { artifact });
    assigned.add(artifact.sha256); // else they may go at any moment
    expect(await runtime.prepare(spec, () => {})).toEqual({ kind: "prepared" });
    await rm(dirname(join(stateDirectory, "artifacts", artifact.sha256, "app")), { recursive: true });
    await expect(runtime.start(spec)).rejects.toThrow(/bind source path does not exist/);
  });
});

test.runIf(hasDocker)(
  "a container of the runtime image runs the app's functions",
  async ({ expect }) => {
    const { images } = await inTurn("images", () => ensureFlashImages(() => {}));
    await using host = await ContainerHost.start();
    const { edge } = host.fixture;
    const artifact = edge.artifacts.add(APP);
    const imageName = images[1] ?? "";
    const env = { FLASH_RESOURCE_NAME: "greeter", FLASH_ENDPOINT_TYPE: "qb" };
    edge.assign(assignment({ imageName, dockerArgs: "", artifact, env, containerDiskInGb: 0 }));
    await edge.worker("worker-1", "ready");
    edge.submit("endpoint-1", { id: "job-1", input: { name: "Ada" } });
    expect(await edge.report("job-1")).toMatchObject({
      kind: "completed",
      output: { hello: "Ada", note: "as deployed", written: false, directory: "/app", path: "/app" },
    });
  },
  300_000,
);
