/**
 * How soon a container asks for a job, by how far it was prepared: `node bench/coldstart/containers.ts [rounds] [image …]`.
 *
 * A server in this process plays the agent. A start has ended when the worker's poll arrives at it. The kinds
 * take turns in each round, so that what else the machine does meets all of them alike.
 */
import { execFile } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import Dockerode from "dockerode";
import { latencyOf } from "../load/percentiles.ts";

const run = promisify(execFile);
const docker = new Dockerode();
const ROUNDS = Number(process.argv[2] ?? 30);
const IMAGES = process.argv.slice(3);
const NETWORK = "bridge";

type Kind = "docker run" | "create, start" | "start of a created one" | "unpause of a paused one";

/** The agent's side: who waits for a poll of a container, and which polls are held. */
class PollServer {
  readonly #waiting = new Map<string, () => void>();
  readonly #held = new Map<string, ServerResponse>();
  readonly #server = createServer((request, response) => {
    const worker = /\/job-take\/([^/?]+)/.exec(request.url ?? "")?.[1];
    if (worker === undefined) return void response.end("{}");
    this.#held.set(worker, response);
    this.#waiting.get(worker)?.();
    this.#waiting.delete(worker);
  });
  #base = "";

  async listen(address: string): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, address, resolve));
    this.#base = `http://${address}:${(this.#server.address() as AddressInfo).port}`;
  }

  polled(worker: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(worker, resolve));
  }

  /** Answers the held poll that there is no job: the worker asks again. */
  release(worker: string): void {
    this.#held.get(worker)?.writeHead(204).end();
    this.#held.delete(worker);
  }

  environment(worker: string): string[] {
    return [
      `RUNPOD_WEBHOOK_GET_JOB=${this.#base}/job-take/${worker}?x=1`,
      `RUNPOD_WEBHOOK_POST_OUTPUT=${this.#base}/job-done/${worker}/$ID?x=1`,
      `RUNPOD_WEBHOOK_PING=${this.#base}/ping/${worker}?x=1`,
      "RUNPOD_PING_INTERVAL=4000",
      "RUNPOD_AI_API_KEY=key",
      `RUNPOD_POD_ID=${worker}`,
      "RUNPOD_SKIP_AUTO_SYSTEM_CHECKS=true",
      "RUNPOD_SKIP_GPU_CHECK=true",
    ];
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const server = new PollServer();
let count = 0;

/** Time until the worker's poll has arrived, of what `act` begins; the container is removed afterwards. */
async function timed(worker: string, act: () => Promise<unknown>): Promise<number> {
  const polled = server.polled(worker);
  const startedAt = performance.now();
  await Promise.all([act(), polled]);
  return performance.now() - startedAt;
}

function create(image: string, worker: string): Promise<Dockerode.Container> {
  return docker.createContainer({
    name: worker,
    Image: image,
    Env: server.environment(worker),
    HostConfig: { NetworkMode: NETWORK, Init: true },
  });
}

const KINDS: Record<Kind, (image: string, worker: string) => Promise<number>> = {
  "docker run": (image, worker) => {
    const env = server.environment(worker).flatMap((variable) => ["--env", variable]);
    return timed(worker, () => run("docker", ["run", "--detach", "--init", "--name", worker, ...env, image]));
  },
  "create, start": (image, worker) => timed(worker, async () => (await create(image, worker)).start()),
  "start of a created one": async (image, worker) => {
    const container = await create(image, worker);
    return timed(worker, () => container.start());
  },
  "unpause of a paused one": async (image, worker) => {
    const container = await create(image, worker);
    await timed(worker, () => container.start());
    await container.pause();
    return timed(worker, async () => {
      server.release(worker);
      await container.unpause();
    });
  },
};

async function measure(image: string): Promise<void> {
  const figures = new Map<Kind, number[]>();
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [kind, start] of Object.entries(KINDS) as [Kind, (typeof KINDS)[Kind]][]) {
      const worker = `coldstart-${process.pid}-${(count += 1)}`;
      const ms = await start(image, worker).finally(() =>
        docker.getContainer(worker).remove({ force: true, v: true }),
      );
      if (round >= 0) figures.set(kind, [...(figures.get(kind) ?? []), ms]); // the first round warms up
    }
  }
  for (const [kind, ms] of figures) {
    const { p50, p99 } = latencyOf(ms);
    console.log(`| ${image} | ${kind} | ${p50.toFixed(0)} | ${p99.toFixed(0)} |`);
  }
}

const network = (await docker.getNetwork(NETWORK).inspect()) as Dockerode.NetworkInspectInfo;
await server.listen(network.IPAM?.Config?.[0]?.Gateway ?? "127.0.0.1");
console.log(`${ROUNDS} rounds each, ms\n\n| Image | Start | p50 | p99 |\n| --- | --- | ---: | ---: |`);
for (const image of IMAGES) await measure(image);
server.close();
