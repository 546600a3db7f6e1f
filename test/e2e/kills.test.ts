/** Parts are killed without warning while 200 jobs are under way: none is lost, none completes twice. */
import Dockerode from "dockerode";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { isDockerAvailable } from "../support/docker.ts";
import { startEdgerun, type Edgerun } from "../support/edgerun.ts";
import { QueueClient } from "../support/queue-client.ts";

const JOBS = 200;
const KILL_AFTER = 30;

const runtimes = (await isDockerAvailable()) ? (["process", "docker"] as const) : (["process"] as const);

describe.for(runtimes)("with workers in the %s runtime", (runtime) => {
  let edgerun: Edgerun;
  let client: QueueClient;

  beforeAll(async () => {
    edgerun = await startEdgerun({ runtime });
    client = new QueueClient(edgerun);
  });
  afterAll(() => edgerun.stop());

  const victims: Record<string, () => void | Promise<void>> = {
    edge: () => void process.kill(edgerun.pids().edge, "SIGKILL"),
    agent: () => void process.kill(edgerun.pids().agent, "SIGKILL"),
    worker: () => (runtime === "docker" ? killContainers() : killWorkerProcesses(edgerun)),
  };

  test.for(Object.keys(victims))("kill -9 of the %s", async (victim, { expect }) => {
    const before = (await client.health()).jobs;
    const names = Array.from({ length: JOBS }, (_, index) => `${victim}-${index}`);
    const submitted = await Promise.all(names.map((name) => client.run({ name })));

    await client.untilCompleted(before.completed + KILL_AFTER);
    await victims[victim]?.();
    const killedAt = performance.now();
    const atKill = (await client.health()).jobs.completed;
    await client.untilCompleted(atKill + 2);
    const resumedMs = Math.round(performance.now() - killedAt);

    const results = await Promise.all(submitted.map(({ id }) => client.result(id)));
    const after = (await client.health()).jobs;
    console.info(
      `kill -9 of the ${victim} (${runtime}): ${atKill - before.completed} of ${JOBS} jobs done at the kill, ` +
        `work went on after ${resumedMs} ms, ${after.retried - before.retried} jobs ran again.`,
    );
    expect(results.map(({ status, output }) => ({ status, output }))).toEqual(
      names.map((name) => ({ status: "COMPLETED", output: { greeting: `Hello, ${name}!` } })),
    );
    expect(after).toMatchObject({
      completed: before.completed + JOBS,
      failed: before.failed,
      inQueue: 0,
      inProgress: 0,
    });
  });
});

async function killContainers(): Promise<void> {
  const docker = new Dockerode();
  const containers = await docker.listContainers({ filters: { label: ["edgerun.worker"] } });
  await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).kill()));
}

/** The process runtime notes the process of each worker below the agent's state. */
function killWorkerProcesses({ stateDirectory }: Edgerun): void {
  const workers = join(stateDirectory, "agent/workers");
  for (const workerId of readdirSync(workers)) {
    const { pid } = JSON.parse(readFileSync(join(workers, workerId, "worker.json"), "utf8")) as {
      pid: number;
    };
    process.kill(pid, "SIGKILL");
  }
}
