/** Containers without Edgerun around them; a server in this process plays their agent. */
import { execFile } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type Dockerode from "dockerode";

const run = promisify(execFile);
const NETWORK = "bridge";

/** How far a container was prepared before the clock starts, and what is done then. */
export const START_KINDS = [
  "docker run",
  "create, start",
  "start of a created one",
  "unpause of a paused one",
] as const;
export type StartKind = (typeof START_KINDS)[number];

export class BareContainers implements Disposable {
  readonly #docker: Dockerode;
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
  #count = 0;

  private constructor(docker: Dockerode) {
    this.#docker = docker;
  }

  static async open(docker: Dockerode): Promise<BareContainers> {
    const bare = new BareContainers(docker);
    const network = (await docker.getNetwork(NETWORK).inspect()) as Dockerode.NetworkInspectInfo;
    const address = network.IPAM?.Config?.[0]?.Gateway ?? "127.0.0.1";
    await new Promise<void>((resolve) => bare.#server.listen(0, address, resolve));
    bare.#base = `http://${address}:${(bare.#server.address() as AddressInfo).port}`;
    return bare;
  }

  /** Starts a worker of the image; answers the ms until its job poll has arrived. Nothing of it is left. */
  async start(kind: StartKind, image: string): Promise<number> {
    this.#count += 1;
    const worker = `coldstart-${process.pid}-${this.#count}`;
    try {
      return await this.#startAs(kind, image, worker);
    } finally {
      await this.#docker.getContainer(worker).remove({ force: true, v: true });
    }
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #startAs(kind: StartKind, image: string, worker: string): Promise<number> {
    if (kind === "docker run") {
      const env = this.#environment(worker).flatMap((variable) => ["--env", variable]);
      const args = ["run", "--detach", "--init", "--name", worker, ...env, image];
      return this.#timed(worker, () => run("docker", args));
    }
    if (kind === "create, start") {
      return this.#timed(worker, async () => (await this.#create(image, worker)).start());
    }
    const container = await this.#create(image, worker);
    const startMs = () => this.#timed(worker, () => container.start());
    if (kind === "start of a created one") return startMs();
    await startMs();
    await container.pause();
    return this.#timed(worker, async () => {
      this.#held.get(worker)?.writeHead(204).end(); // it polls again after 204
      await container.unpause();
    });
  }

  async #timed(worker: string, act: () => Promise<unknown>): Promise<number> {
    const polled = new Promise<void>((resolve) => this.#waiting.set(worker, resolve));
    const startedAt = performance.now();
    await Promise.all([act(), polled]);
    return performance.now() - startedAt;
  }

  #create(image: string, worker: string): Promise<Dockerode.Container> {
    return this.#docker.createContainer({
      name: worker,
      Image: image,
      Env: this.#environment(worker),
      HostConfig: { NetworkMode: NETWORK, Init: true },
    });
  }

  #environment(worker: string): string[] {
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
}
