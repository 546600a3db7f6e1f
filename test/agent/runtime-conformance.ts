/** What every container runtime of the agent must do, checked on the real thing. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, type ExpectStatic, test } from "vitest";
import type { OutputLine, OutputPart, OutputReader } from "../../node-agent/runtime/interface/output.ts";
import type { Runtime, WorkerExit, WorkerSpec } from "../../node-agent/runtime/interface/runtime.ts";

export type RuntimeFixture = {
  readonly runtime: Runtime;
  readonly imageName: string;
  /** Another runtime over the same state, as after the agent was restarted. */
  reopen(): Runtime;
  /** Command line that sends a GET request and prints the answer. */
  fetchCommand(url: string): string;
  /** Whatever there still is of a worker on this machine: processes, containers, directories. */
  traces(workerId: string): Promise<readonly string[]>;
  /** Removes all workers and what else the fixture has made. */
  dispose(): Promise<void>;
};

let specCount = 0;

/** A worker of its own for each test; `dockerArgs` is what it runs. */
export function workerSpec(
  imageName: string,
  dockerArgs: string,
  changes: Partial<WorkerSpec> = {},
): WorkerSpec {
  return {
    workerId: `w${process.pid}-${(specCount += 1)}`,
    endpointId: "endpoint-1",
    revision: 7,
    imageName,
    dockerArgs,
    env: {},
    containerDiskInGb: 1,
    gpuIndexes: [],
    registryAuth: null,
    ...changes,
  };
}

/** Runs a script; it may hold double quotes only. */
export function shell(script: string): string {
  return `sh -c '${script}'`;
}

/** Prints `ready` and obeys SIGTERM. */
const OBEDIENT = shell('trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.05; done');
const STUBBORN = shell('trap "" TERM; echo ready; while :; do sleep 0.05; done');
const SLEEPER = "sleep 1000";

/** Collects the exits that a runtime reports, and lets a test wait for one. */
export class ExitLog {
  readonly all: WorkerExit[] = [];
  readonly stop: () => void;
  readonly #waiting = new Map<string, (exit: WorkerExit) => void>();

  constructor(runtime: Runtime) {
    this.stop = runtime.watch((exit) => {
      this.all.push(exit);
      this.#waiting.get(exit.workerId)?.(exit);
    });
  }

  of(workerId: string): Promise<WorkerExit> {
    const found = this.all.find((exit) => exit.workerId === workerId);
    return found ? Promise.resolve(found) : new Promise((resolve) => this.#waiting.set(workerId, resolve));
  }
}

/** Reads what a worker prints. */
class OutputLog {
  readonly lines: OutputLine[] = [];
  /** Places to go on from, with the number of lines before each. */
  readonly places: { readonly position: string; readonly count: number }[] = [];
  dropped = 0;
  readonly #admits: () => boolean;

  constructor(admits: () => boolean = () => true) {
    this.#admits = admits;
  }

  get texts(): string[] {
    return this.lines.map(({ text }) => text);
  }

  reader(position: string | null, isEnough: (count: number) => boolean = () => false): OutputReader {
    const stop = new AbortController();
    const onPart = (part: OutputPart) => {
      if (stop.signal.aborted) return;
      this.lines.push(...part.lines);
      this.dropped += part.dropped;
      this.places.push({ position: part.position, count: this.lines.length });
      if (isEnough(this.lines.length)) stop.abort();
    };
    return { position, admits: this.#admits, onPart, signal: stop.signal };
  }
}

/** Resolves when a worker has printed a line. */
export async function printed(
  expect: ExpectStatic,
  runtime: Runtime,
  workerId: string,
  line: string,
): Promise<void> {
  await expect.poll(() => runtime.lastLines(workerId, 50), { interval: 20 }).toContain(line);
}

export function describeRuntime(name: string, open: () => Promise<RuntimeFixture>): void {
  describe(name, () => {
    let fixture: RuntimeFixture;
    let runtime: Runtime;
    let exits: ExitLog;

    beforeEach(async () => {
      fixture = await open();
      runtime = fixture.runtime;
      exits = new ExitLog(runtime);
    });
    afterEach(async () => {
      exits.stop();
      await fixture.dispose();
    });

    const spec = (dockerArgs: string, changes?: Partial<WorkerSpec>): WorkerSpec =>
      workerSpec(fixture.imageName, dockerArgs, changes);

    async function started(dockerArgs: string, changes?: Partial<WorkerSpec>): Promise<string> {
      const worker = spec(dockerArgs, changes);
      await runtime.start(worker);
      return worker.workerId;
    }

    describe("output", () => {
      test("is handed on line by line until the worker has ended", async ({ expect }) => {
        const workerId = await started(
          shell('echo one; sleep 0.1; echo two >&2; sleep 0.1; echo "three  "; printf four'),
        );
        const output = new OutputLog();
        await runtime.output(workerId, output.reader(null));
        expect(output.texts).toEqual(["one", "two", "three  ", "four"]);
        const times = output.lines.map(({ at }) => at / 1_000);
        expect(times).toEqual(times.toSorted((one, other) => one - other));
        for (const time of times) expect(Math.abs(time - Date.now())).toBeLessThan(60_000);
      });

      test("is read on from any place, each line once", async ({ expect }) => {
        const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
        const workerId = await started(shell(`for i in $(seq 0 39); do echo "line $i"; done`));
        await exits.of(workerId);
        const whole = new OutputLog();
        await runtime.output(workerId, whole.reader(null));
        expect(whole.texts).toEqual(lines);
        for (const { position, count } of whole.places) {
          const rest = new OutputLog();
          await fixture.reopen().output(workerId, rest.reader(position));
          expect(rest.texts).toEqual(lines.slice(count));
        }
      });

      test("continues for the next reader when the first one has left", async ({ expect }) => {
        const workerId = await started(shell("for i in $(seq 1 60); do echo $i; sleep 0.05; done"));
        const first = new OutputLog();
        await runtime.output(
          workerId,
          first.reader(null, (count) => count >= 10),
        );
        const second = new OutputLog();
        await fixture.reopen().output(workerId, second.reader(first.places.at(-1)?.position ?? null));
        const all = [...first.texts, ...second.texts];
        expect(all).toEqual(Array.from({ length: 60 }, (_, index) => `${index + 1}`));
      });

      test("that is not admitted is counted", async ({ expect }) => {
        const workerId = await started(shell(`for i in $(seq 1 30); do echo "line $i"; done`));
        const output = new OutputLog(
          (() => {
            let lines = 0;
            return () => (lines += 1) <= 10;
          })(),
        );
        await runtime.output(workerId, output.reader(null));
        expect([output.texts.length, output.dropped]).toEqual([10, 20]);
      });
    });

    describe("starting", () => {
      test("an image that is there is prepared at once", async ({ expect }) => {
        const details: string[] = [];
        const outcome = await runtime.prepare(spec(SLEEPER), ({ detail }) => details.push(detail ?? "there"));
        expect(outcome).toEqual({ kind: "prepared" });
        expect(details).toEqual([]);
      });

      test("a worker that ends is reported with its exit code, and its last lines stay readable", async ({
        expect,
      }) => {
        const workerId = await started(shell("echo one; echo two; echo three; exit 3"));
        expect(await exits.of(workerId)).toEqual({ workerId, exitCode: 3, reason: "exited with code 3" });
        expect(await runtime.lastLines(workerId, 2)).toEqual(["two", "three"]);
        expect(await runtime.lastLines(workerId, 10)).toEqual(["one", "two", "three"]);
        expect(await runtime.list()).toEqual([
          { workerId, endpointId: "endpoint-1", revision: 7, isRunning: false, isFrozen: false, exitCode: 3 },
        ]);
      });

      test("what a worker writes to its errors is among its lines", async ({ expect }) => {
        const workerId = await started(shell("echo trouble >&2"));
        await exits.of(workerId);
        expect(await runtime.lastLines(workerId, 5)).toEqual(["trouble"]);
      });

      test("starting a worker twice, also at the same moment, gives one worker", async ({ expect }) => {
        const worker = spec(shell("echo started; sleep 1000"));
        await Promise.all([runtime.start(worker), runtime.start(worker)]);
        await printed(expect, runtime, worker.workerId, "started");
        await runtime.start(worker);
        expect(await runtime.list()).toMatchObject([{ workerId: worker.workerId, isRunning: true }]);
        expect(await runtime.lastLines(worker.workerId, 10)).toEqual(["started"]);
      });

      test("a worker that has ended can be restarted under its id, and its new end is reported", async ({
        expect,
      }) => {
        const worker = spec(shell("touch used; exit 4"));
        await runtime.start(worker);
        expect(await exits.of(worker.workerId)).toMatchObject({ exitCode: 4 });
        await runtime.remove(worker.workerId);
        await runtime.start({ ...worker, dockerArgs: shell("[ -e used ] && exit 5; exit 6") });
        await expect.poll(() => exits.all.map((exit) => exit.exitCode)).toEqual([4, 6]);
      });

      test("start arguments are split like in a shell, without any expansion", async ({ expect }) => {
        const workerId = await started(`printf '%s\\n' "two words" $HOME 'it'"'"s`);
        await exits.of(workerId);
        expect(await runtime.lastLines(workerId, 5)).toEqual(["two words", "$HOME", "it's"]);
      });

      test("start arguments with an open quote are refused, and leave nothing", async ({ expect }) => {
        const worker = spec("echo 'open");
        await expect(runtime.start(worker)).rejects.toThrow(/start arguments .*echo 'open/);
        expect(await fixture.traces(worker.workerId)).toEqual([]);
      });

      test("a command that does not exist is named or reported as missing", async ({ expect }) => {
        const worker = spec("no-such-command --at-all");
        const failure = await runtime.start(worker).then(
          () => exits.of(worker.workerId).then((exit) => exit.reason),
          (error: unknown) => String(error),
        );
        expect(failure).toMatch(/not found/);
      });
    });

    describe("surroundings", () => {
      test("the worker's environment reaches it and the host's does not", async ({ expect }) => {
        process.env["EDGERUN_TEST_HOST_SECRET"] = "of the host";
        const workerId = await started("env", { env: { GREETING: "hello = world", EMPTY: "" } });
        await exits.of(workerId);
        delete process.env["EDGERUN_TEST_HOST_SECRET"];
        const lines = await runtime.lastLines(workerId, 100);
        expect(lines).toContain("GREETING=hello = world");
        expect(lines).toContain("EMPTY=");
        expect(lines.join("\n")).not.toContain("EDGERUN_TEST_HOST_SECRET");
        expect(lines.some((line) => line.startsWith("PATH="))).toBe(true);
      });

      test("two workers have working directories of their own", async ({ expect }) => {
        const claim = shell("[ -e mine ] && exit 9; touch mine; exit 0");
        const first = await started(claim);
        await exits.of(first);
        const second = await started(claim);
        expect(await exits.of(second)).toMatchObject({ exitCode: 0 });
      });

      test("a worker reaches a server of the agent at the agent's address", async ({ expect }) => {
        const address = await runtime.agentAddress();
        const server = createServer((_request, response) => response.end("hello worker\n"));
        await new Promise<void>((resolve) => server.listen(0, address, resolve));
        const { port } = server.address() as AddressInfo;
        await runtime.admit(port);
        const workerId = await started(fixture.fetchCommand(`http://${address}:${port}/`));
        expect(await exits.of(workerId)).toMatchObject({ exitCode: 0 });
        expect(await runtime.lastLines(workerId, 5)).toEqual(["hello worker"]);
        await new Promise((resolve) => server.close(resolve));
      });
    });

    describe("stopping", () => {
      test("a program that obeys SIGTERM ends within the grace period", async ({ expect }) => {
        const workerId = await started(OBEDIENT);
        await printed(expect, runtime, workerId, "ready");
        await runtime.stop(workerId, 20_000);
        expect(await exits.of(workerId)).toMatchObject({ exitCode: 0 });
        expect(await runtime.lastLines(workerId, 1)).toEqual(["bye"]);
        expect(await runtime.list()).toMatchObject([{ workerId, isRunning: false, exitCode: 0 }]);
      });

      test("a program that ignores SIGTERM is killed after the grace period", async ({ expect }) => {
        const workerId = await started(STUBBORN);
        await printed(expect, runtime, workerId, "ready");
        await runtime.stop(workerId, 200);
        expect(await exits.of(workerId)).toMatchObject({
          exitCode: 137,
          reason: "killed by signal SIGKILL (exit code 137)",
        });
      });

      test("without a grace period the program is killed at once", async ({ expect }) => {
        const workerId = await started(OBEDIENT);
        await printed(expect, runtime, workerId, "ready");
        await runtime.stop(workerId, 0);
        expect(await exits.of(workerId)).toMatchObject({ exitCode: 137 });
      });

      test("stopping an ended or unknown worker does nothing", async ({ expect }) => {
        const workerId = await started(shell("exit 2"));
        await exits.of(workerId);
        await runtime.stop(workerId, 10_000);
        await runtime.stop("unknown", 10_000);
        expect(exits.all).toHaveLength(1);
      });
    });

    describe("freezing", () => {
      const COUNTER = shell("i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done");
      const newest = async (workerId: string) => Number((await runtime.lastLines(workerId, 1))[0] ?? 0);

      test("a frozen worker does nothing until it is thawed, and then continues", async ({ expect }) => {
        const workerId = await started(COUNTER);
        await expect.poll(() => newest(workerId)).toBeGreaterThan(3);
        await runtime.freeze(workerId);
        await runtime.freeze(workerId);
        expect(await runtime.list()).toMatchObject([{ workerId, isRunning: true, isFrozen: true }]);
        const held = await newest(workerId);

        const other = await started(COUNTER);
        await expect.poll(() => newest(other)).toBeGreaterThan(10); // meanwhile the frozen one would have counted on
        expect(await newest(workerId)).toBe(held);
        await runtime.thaw(workerId);
        await runtime.thaw(workerId);
        await expect.poll(() => newest(workerId)).toBeGreaterThan(held);
        expect(await runtime.lastLines(workerId, 1_000)).toContain(`${held + 1}`);
        expect(await runtime.list()).toContainEqual(expect.objectContaining({ workerId, isFrozen: false }));
      });

      test("a frozen worker is found as such by the next agent, which thaws it", async ({ expect }) => {
        const workerId = await started(COUNTER);
        await expect.poll(() => newest(workerId)).toBeGreaterThan(3);
        await runtime.freeze(workerId);
        await runtime.close();
        runtime = fixture.reopen();
        expect(await runtime.list()).toMatchObject([{ workerId, isRunning: true, isFrozen: true }]);
        const held = await newest(workerId);
        await runtime.thaw(workerId);
        await expect.poll(() => newest(workerId)).toBeGreaterThan(held);
      });

      test("a frozen worker can be stopped, with and without grace, and removed", async ({ expect }) => {
        const obedient = await started(OBEDIENT);
        await printed(expect, runtime, obedient, "ready");
        await runtime.freeze(obedient);
        await runtime.stop(obedient, 20_000);
        expect(await exits.of(obedient)).toMatchObject({ exitCode: 0 });

        const killed = await started(STUBBORN);
        await runtime.freeze(killed);
        await runtime.stop(killed, 0);
        expect(await exits.of(killed)).toMatchObject({ exitCode: 137 });

        const removed = await started(STUBBORN);
        await runtime.freeze(removed);
        await runtime.remove(removed);
        expect(await fixture.traces(removed)).toEqual([]);
      });

      test("a worker that does not run can be neither frozen nor thawed", async ({ expect }) => {
        const ended = await started(shell("exit 0"));
        await exits.of(ended);
        for (const workerId of [ended, "unknown"]) {
          await expect(runtime.freeze(workerId)).rejects.toThrow(/does not run/);
          await expect(runtime.thaw(workerId)).rejects.toThrow(/does not run/);
        }
      });
    });

    describe("removing", () => {
      test("a running worker is removed with everything that it has started", async ({ expect }) => {
        const workerId = await started(
          shell(
            'sleep 1000 & setsid sleep 1000 & (setsid sh -c "sleep 1000 & sleep 1000" &) ; echo ready; wait',
          ),
        );
        await printed(expect, runtime, workerId, "ready");
        expect(await fixture.traces(workerId)).not.toEqual([]);
        await runtime.remove(workerId);
        expect(await fixture.traces(workerId)).toEqual([]);
        expect(await runtime.list()).toEqual([]);
        expect(await runtime.lastLines(workerId, 5)).toEqual([]);
      });

      test("a worker that has ended is removed, and removing again does nothing", async ({ expect }) => {
        const workerId = await started(shell("exit 0"));
        await exits.of(workerId);
        await runtime.remove(workerId);
        await runtime.remove(workerId);
        await runtime.remove("unknown");
        expect(await fixture.traces(workerId)).toEqual([]);
      });

      test("removing while it is being stopped, and twice at once, leaves nothing", async ({ expect }) => {
        const workerId = await started(STUBBORN);
        await printed(expect, runtime, workerId, "ready");
        const stopping = runtime.stop(workerId, 20_000);
        await Promise.all([runtime.remove(workerId), fixture.reopen().remove(workerId)]);
        await stopping;
        expect(await fixture.traces(workerId)).toEqual([]);
      });
    });

    describe("watching", () => {
      test("each end is reported once, however the worker ended", async ({ expect }) => {
        const bySelf = await started(shell("exit 1"));
        const byStop = await started(SLEEPER);
        const byRemove = await started(SLEEPER);
        await exits.of(bySelf);
        await Promise.all([runtime.stop(byStop, 0), runtime.remove(byRemove)]);
        await Promise.all([exits.of(byStop), exits.of(byRemove)]);
        await runtime.remove(bySelf);
        await runtime.remove(byStop);

        const last = await started(shell("exit 0"));
        await exits.of(last); // whatever would be reported twice has been reported before this one
        expect(exits.all.map((exit) => exit.workerId).toSorted()).toEqual(
          [bySelf, byStop, byRemove, last].toSorted(),
        );
      });

      test("a stopped watch receives no more events", async ({ expect }) => {
        const stopped = new ExitLog(runtime);
        stopped.stop();
        const workerId = await started(shell("exit 0"));
        await exits.of(workerId);
        expect(stopped.all).toEqual([]);
      });

      test("ten workers at once each end with their own code, reported once", async ({ expect }) => {
        const workers = Array.from({ length: 10 }, (_, index) => spec(shell(`exit ${index + 10}`)));
        await Promise.all(workers.map((worker) => runtime.start(worker)));
        const codes = await Promise.all(
          workers.map(async (worker) => (await exits.of(worker.workerId)).exitCode),
        );
        expect(codes).toEqual(workers.map((_, index) => index + 10));
        expect(exits.all).toHaveLength(10);
        await Promise.all(workers.map((worker) => runtime.remove(worker.workerId)));
        expect(await runtime.list()).toEqual([]);
      });
    });

    describe("after the agent was restarted", () => {
      test("running workers are found, read, watched, stopped and removed", async ({ expect }) => {
        const workerId = await started(OBEDIENT);
        await printed(expect, runtime, workerId, "ready");
        await runtime.close();

        const next = fixture.reopen();
        const nextExits = new ExitLog(next);
        expect(await next.list()).toEqual([
          {
            workerId,
            endpointId: "endpoint-1",
            revision: 7,
            isRunning: true,
            isFrozen: false,
            exitCode: null,
          },
        ]);
        expect(await next.lastLines(workerId, 1)).toEqual(["ready"]);
        await next.stop(workerId, 20_000);
        expect(await nextExits.of(workerId)).toMatchObject({ workerId });
        await next.remove(workerId);
        expect(await fixture.traces(workerId)).toEqual([]);
        nextExits.stop();
      });

      test("starting a worker that still runs is a no-op", async ({ expect }) => {
        const worker = spec(shell("echo started; sleep 1000"));
        await runtime.start(worker);
        await printed(expect, runtime, worker.workerId, "started");
        await runtime.close();
        const next = fixture.reopen();
        await next.start(worker);
        expect(await next.lastLines(worker.workerId, 5)).toEqual(["started"]);
        expect(await next.list()).toMatchObject([{ workerId: worker.workerId, isRunning: true }]);
      });

      test("a worker that ended in between is reported", async ({ expect }) => {
        const workerId = await started(OBEDIENT);
        await printed(expect, runtime, workerId, "ready");
        const [other] = [fixture.reopen()];
        exits.stop();
        await other.stop(workerId, 20_000);
        await runtime.close();
        await other.close();

        const next = fixture.reopen();
        const nextExits = new ExitLog(next);
        expect(await nextExits.of(workerId)).toMatchObject({ workerId });
        expect(await next.list()).toMatchObject([{ workerId, isRunning: false }]);
        nextExits.stop();
      });
    });
  });
}
