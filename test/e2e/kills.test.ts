/** Parts are killed without warning while jobs are under way: none is lost, none completes twice. */
import Dockerode from "dockerode";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { isDockerAvailable } from "../support/docker.ts";
import { startEdgerun, type Edgerun } from "../support/edgerun.ts";
import { QueueClient } from "../support/queue-client.ts";

const JOBS = 60;
const SLOW_JOB = 20;
const SLOW_SECONDS = 2;

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
    worker: () => (runtime === "docker" ? killContainers(edgerun) : killWorkerProcesses(edgerun)),
  };

  test.for(Object.keys(victims))("kill -9 of the %s", async (victim, { expect }) => {
    const before = (await client.health()).jobs;
    const inputs = Array.from({ length: JOBS }, (_, index) => ({
      name: `${victim}-${index}`,
      // The kill finds this one in the middle of its handler.
      seconds: index === SLOW_JOB ? SLOW_SECONDS : 0,
    }));
    const submit = (from: number, end: number) =>
      Promise.all(inputs.slice(from, end).map((input) => client.run(input)));
    const submitted = [
      ...(await submit(0, SLOW_JOB)),
      ...(await submit(SLOW_JOB, SLOW_JOB + 1)),
      ...(await submit(SLOW_JOB + 1, JOBS)),
    ];
    await client.untilRunning(submitted[SLOW_JOB]?.id ?? "");
    await victims[victim]?.();
    const killedAt = performance.now();
    const atKill = (await client.health()).jobs.completed;
    await client.untilCompleted(atKill + 2);
    const resumedMs = Math.round(performance.now() - killedAt);

    const results = await Promise.all(submitted.map(({ id }) => client.result(id)));
    const after = (await client.health()).jobs;
    if (victim !== "worker") await edgerun.printed(startedAgain(victim));
    console.info(
      `kill -9 of the ${victim} (${runtime}): ${atKill - before.completed} of ${JOBS} jobs done at the kill, ` +
        `the second job after it completed ${resumedMs} ms later (the one under way takes ${SLOW_SECONDS} s), ${after.retried - before.retried} jobs ran again.`,
    );
    expect(results.map(({ status, output }) => ({ status, output }))).toEqual(
      inputs.map(({ name }) => ({ status: "COMPLETED", output: { greeting: `Hello, ${name}!` } })),
    );
    expect(after).toMatchObject({
      completed: before.completed + JOBS,
      failed: before.failed,
      inQueue: 0,
      inProgress: 0,
    });
  });
});

function startedAgain(part: string): RegExp {
  return new RegExp(
    String.raw`^${part}: ended unexpectedly \(killed by SIGKILL\)[^]*^${part}: running again`,
    "m",
  );
}

async function killContainers({ endpointId }: Edgerun): Promise<void> {
  const docker = new Dockerode();
  const containers = await docker.listContainers({ filters: { label: [`edgerun.endpoint=${endpointId}`] } });
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
