/**
 * Cold starts of workers that serve requests, beside a bare `docker run` until the server's first 200:
 * `node bench/coldstart/serving.ts [rounds]`.
 *
 * A start is the time from the sync that assigns the worker until its door is open to requests; "frozen" starts with
 * a worker on standby. The edge is played by this process. The kinds take turns.
 */
import { HEALTH_PROBE_MS, TIMING } from "../../node-agent/core/timing.ts";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import Dockerode from "dockerode";
import { ContainerHost } from "../../test/support/container-host.ts";
import { ensureServerImage } from "../../test/support/script-image.ts";
import { openWorkers, servingContainer } from "../../test/support/serving-worker.ts";
import { latencyOf } from "../load/percentiles.ts";

const run = promisify(execFile);
const ROUNDS = Number(process.argv[2] ?? 12);
const LOOK_MS = 1;
/** The agent and Docker have come to rest. */
const REST_MS = 500;

const docker = new Dockerode();
const image = await ensureServerImage("root");

/** `docker run` until the server answers 200. */
async function startBare(): Promise<number> {
  const name = `coldstart-${randomUUID().slice(0, 8)}`;
  const startedAt = performance.now();
  try {
    await run("docker", ["run", "--detach", "--init", "--name", name, "--env", "PORT=80", image]);
    const { NetworkSettings } = await docker.getContainer(name).inspect();
    const url = `http://${NetworkSettings.Networks["bridge"]?.IPAddress}/ping`;
    for (;;) {
      const status = await fetch(url).then(
        (response) => response.status,
        () => null,
      );
      if (status === 200) return performance.now() - startedAt;
      await delay(LOOK_MS);
    }
  } finally {
    await docker.getContainer(name).remove({ force: true, v: true });
  }
}

async function untilOpen(host: ContainerHost, isOpen: boolean): Promise<void> {
  while (openWorkers(host.fixture).length > 0 !== isOpen) await delay(LOOK_MS);
}

/** A cold start through the agent, and a start of the same worker after it was frozen. */
async function startWorker(host: ContainerHost): Promise<{ coldMs: number; frozenMs: number }> {
  const { edge } = host.fixture;
  const one = servingContainer(image);
  const frozen = host.fixture.count("worker_frozen");
  const coldMs = await timed(host, () => edge.assign(one));
  edge.assign({ ...one, mode: "standby" });
  await host.fixture.logged("worker_frozen", frozen + 1);
  await delay(REST_MS);
  const frozenMs = await timed(host, () => edge.assign(one));
  edge.assign();
  await edge.workerGone(one.workerId);
  await delay(REST_MS);
  return { coldMs, frozenMs };
}

async function timed(host: ContainerHost, act: () => void): Promise<number> {
  await untilOpen(host, false);
  const startedAt = performance.now();
  act();
  await untilOpen(host, true);
  return performance.now() - startedAt;
}

await using host = await ContainerHost.start(
  {},
  { healthProbeMs: HEALTH_PROBE_MS, healthProbeStartMs: TIMING.healthProbeStartMs },
);
const figures = new Map<string, number[]>();
const note = (name: string, ms: number) => figures.set(name, [...(figures.get(name) ?? []), ms]);
for (let round = -1; round < ROUNDS; round += 1) {
  const bareMs = await startBare();
  const { coldMs, frozenMs } = await startWorker(host);
  if (round < 0) continue; // the first round warms up
  note("docker run, until its first 200", bareMs);
  note("agent, from assignment to open door", coldMs);
  note("agent, from standby to open door", frozenMs);
}
console.log(`${image}, ${ROUNDS} rounds, ms\n\n| Start | p50 | p99 |\n| --- | ---: | ---: |`);
for (const [name, ms] of figures) {
  const { p50, p99 } = latencyOf(ms);
  console.log(`| ${name} | ${p50.toFixed(0)} | ${p99.toFixed(0)} |`);
}
