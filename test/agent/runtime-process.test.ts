import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, test } from "vitest";
import { ProcessRuntime } from "../../node-agent/runtime/process/process-runtime.ts";
import { Volumes } from "../../node-agent/disk/volumes.ts";
import {
  describeRuntime,
  ExitLog,
  printed,
  type RuntimeFixture,
  shell,
  workerSpec,
} from "./runtime-conformance.ts";

const run = promisify(execFile);

async function openFixture(): Promise<RuntimeFixture & { readonly stateDirectory: string }> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-process-"));
  const opened: ProcessRuntime[] = [];
  const reopen = (): ProcessRuntime => {
    const runtime = new ProcessRuntime({ stateDirectory, hasRealGpus: false });
    opened.push(runtime);
    return runtime;
  };
  return {
    runtime: reopen(),
    stateDirectory,
    imageName: "ignored",
    reopen,
    fetchCommand: (url) =>
      `"${process.execPath}" -e "fetch('${url}').then(r => r.text()).then(t => process.stdout.write(t))"`,
    traces: (workerId) => traces(join(stateDirectory, "workers", workerId)),
    async dispose() {
      const cleaner = reopen();
      for (const { workerId } of await cleaner.list()) await cleaner.remove(workerId);
      for (const runtime of opened) await runtime.close();
      await rm(stateDirectory, { recursive: true, force: true });
    },
  };
}

/** The worker's directory, and the processes that work in it or log to it. */
async function traces(directory: string): Promise<readonly string[]> {
  const { stdout } = await run("sh", ["-c", "ls -l /proc/[0-9]*/cwd /proc/[0-9]*/fd/1 2>/dev/null || true"]);
  const processes = stdout.split("\n").filter((line) => line.includes(directory));
  return existsSync(directory) ? [directory, ...processes] : processes;
}

describeRuntime("process runtime", openFixture);

describe("process runtime, on its own", () => {
  let fixture: Awaited<ReturnType<typeof openFixture>>;

  beforeEach(async () => {
    fixture = await openFixture();
  });
  afterEach(() => fixture.dispose());

  const directoryOf = (workerId: string): string => join(fixture.stateDirectory, "workers", workerId);

  test("a worker without a start command is rejected with what to do", async ({ expect }) => {
    await expect(fixture.runtime.start(workerSpec("", ""))).rejects.toThrow("dockerArgs");
  });

  test("a worker gets the path of its network volume, which cannot be mounted", async ({ expect }) => {
    const volumes = new Volumes({ directory: join(fixture.stateDirectory, "volumes"), createsMissing: true });
    const runtime = new ProcessRuntime({ ...fixture, hasRealGpus: false, volumes });
    const exits = new ExitLog(runtime);
    const spec = workerSpec("", shell("touch $EDGERUN_VOLUME/file"), { networkVolumeIds: ["models"] });
    await runtime.start(spec);
    await exits.of(spec.workerId);
    expect(existsSync(join(fixture.stateDirectory, "volumes", "models", "file"))).toBe(true);
    exits.stop();
    await runtime.close();
  });

  test("a live worker without a start command runs the runtime of the package that the host has", async ({
    expect,
  }) => {
    const pythonPackage = join(fixture.stateDirectory, "python");
    await mkdir(join(pythonPackage, "edgerun"), { recursive: true });
    await writeFile(join(pythonPackage, "edgerun/__init__.py"), "");
    await writeFile(join(pythonPackage, "edgerun/runtime.py"), "print('the runtime of', __file__)\n");
    const runtime = new ProcessRuntime({ ...fixture, hasRealGpus: false, pythonPackage });
    const exits = new ExitLog(runtime);
    const spec = workerSpec("", "");
    await runtime.start({ ...spec, env: { ...spec.env, FLASH_LIVE: "true" } });
    await exits.of(spec.workerId);
    expect(await runtime.lastLines(spec.workerId, 1)).toEqual([
      `the runtime of ${join(pythonPackage, "edgerun/runtime.py")}`,
    ]);
    await expect(runtime.start(workerSpec("", ""))).rejects.toThrow("dockerArgs");
    exits.stop();
    await runtime.close();
  });

  test("a command that does not exist is rejected by name, and leaves nothing", async ({ expect }) => {
    const spec = workerSpec("", "no-such-command");
    await expect(fixture.runtime.start(spec)).rejects.toThrow("no-such-command");
    expect(await fixture.traces(spec.workerId)).toEqual([]);
  });

  test("of the host's environment a worker gets PATH and HOME only", async ({ expect }) => {
    const exits = new ExitLog(fixture.runtime);
    const spec = workerSpec("", "env", { env: { MINE: "1" } });
    await fixture.runtime.start(spec);
    await exits.of(spec.workerId);
    const lines = await fixture.runtime.lastLines(spec.workerId, 100);
    const names = lines.map((line) => line.replace(/=.*/, "")).toSorted();
    expect(names).toEqual(["EDGERUN_WORKER_DIR", "HOME", "MINE", "PATH"]);
  });

  test("what a worker has started does not outlive it", async ({ expect }) => {
    const exits = new ExitLog(fixture.runtime);
    const spec = workerSpec("", shell("sleep 1000 & (setsid sleep 1000 &) ; exit 5"));
    await fixture.runtime.start(spec);
    expect(await exits.of(spec.workerId)).toMatchObject({ exitCode: 5 });
    expect(await fixture.traces(spec.workerId)).toEqual([directoryOf(spec.workerId)]);
  });

  test("workers survive an agent that is killed, and the next agent ends them cleanly", async ({
    expect,
  }) => {
    const spec = workerSpec("", shell("echo ready; while :; do sleep 0.05; done"));
    const agent = spawn(
      process.execPath,
      [join(import.meta.dirname, "runtime-process-agent.ts"), fixture.stateDirectory, JSON.stringify(spec)],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const ended = new Promise((resolve) => agent.once("exit", resolve));
    await new Promise((resolve) => agent.stdout.once("data", resolve)); // it says when the worker has been started
    agent.kill("SIGKILL");
    await ended;

    const { runtime } = fixture;
    const exits = new ExitLog(runtime);
    expect(await runtime.list()).toMatchObject([{ workerId: spec.workerId, isRunning: true }]);
    await printed(expect, runtime, spec.workerId, "ready");
    const { pid } = JSON.parse(await readFile(join(directoryOf(spec.workerId), "worker.json"), "utf8"));
    process.kill(pid, "SIGKILL");
    expect(await exits.of(spec.workerId)).toMatchObject({
      exitCode: null,
      reason: "ended, exit code unknown",
    });
    await runtime.remove(spec.workerId);
    expect(await fixture.traces(spec.workerId)).toEqual([]);
  });

  test("a pid that was given out again is not taken for a worker", async ({ expect }) => {
    const bystander = spawn("sleep", ["1000"], { detached: true });
    const directory = directoryOf("old");
    await mkdir(directory, { recursive: true });
    const record = {
      workerId: "old",
      endpointId: "e",
      revision: 1,
      pid: bystander.pid,
      start: "before",
      exit: null,
    };
    await writeFile(join(directory, "worker.json"), JSON.stringify(record));

    expect(await fixture.runtime.list()).toMatchObject([
      { workerId: "old", isRunning: false, exitCode: null },
    ]);
    await fixture.runtime.stop("old", 1_000);
    await fixture.runtime.remove("old");
    expect(await fixture.traces("old")).toEqual([]);
    expect(bystander.exitCode).toBeNull();
    expect(bystander.signalCode).toBeNull();
    expect(bystander.kill("SIGKILL")).toBe(true);
  });

  test("a worker of which there is no record is cleared away with its processes", async ({ expect }) => {
    const spec = workerSpec("", "sleep 1000");
    await fixture.runtime.start(spec);
    await fixture.runtime.close();
    await rm(join(directoryOf(spec.workerId), "worker.json"));
    expect(await fixture.reopen().list()).toEqual([]);
    expect(await fixture.traces(spec.workerId)).toEqual([]);
  });

  test("the log of a verbose worker is truncated, and its last lines stay readable", async ({ expect }) => {
    const { runtime } = fixture;
    // What is written while the log is cut is lost, so the last line comes after it.
    const isLong = "[ $(stat -c %s ../output.log) -ge 10000000 ]";
    const talk = 'yes "a line that is said over and over" | head -c 30000000';
    const script = `${talk}; while ${isLong}; do sleep 0.05; done; echo; echo last; sleep 1000`;
    const spec = workerSpec("", shell(script));
    await runtime.start(spec);
    const directory = directoryOf(spec.workerId);
    await printed(expect, runtime, spec.workerId, "last");
    await expect.poll(() => readdir(directory)).toContain("output.previous.log");
    await expect.poll(async () => (await stat(join(directory, "output.log"))).size).toBeLessThan(10_000_000);
    await printed(expect, runtime, spec.workerId, "last");
    expect((await stat(join(directory, "output.previous.log"))).size).toBeLessThanOrEqual(1_000_000);
  });

  test("a worker id never leads out of the state directory", async ({ expect }) => {
    await expect(fixture.runtime.remove("../../etc")).rejects.toThrowErrorMatchingInlineSnapshot(
      `[Error: "../../etc" is no worker id.]`,
    );
  });
});
