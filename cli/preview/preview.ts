/**
 * `flash deploy --preview`: the app of a build, a container for each endpoint, on this computer and nowhere else.
 *
 * V1  Whatever ends it, all that it has made is removed; what a killed one has left, the next one removes.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type Dockerode from "dockerode";
import type { AgentLog } from "../../node-agent/core/log.ts";
import type { BuildResult } from "../build/build.ts";
import type { Cli } from "../core/cli.ts";
import { findEnvironmentFile } from "../configuration/environment-file.ts";
import { Failure } from "../core/failure.ts";
import { type LocalServer, startLocalServer } from "../server/local-server.ts";
import { openCallLog } from "../server/terminal-call-log.ts";
import { counted, secondsSince } from "../core/format.ts";
import { layOutFiles } from "./app-files.ts";
import { ensureImages } from "./images.ts";
import { type Machine, readMachine } from "./machine.ts";
import { type PeerService, startPeerService } from "./peer-service.ts";
import { showPreview } from "./preview-report.ts";
import { PreviewCalls, servedApp } from "./served-preview.ts";
import { clear, clearLeftovers, makeNetwork, newSite, type Site } from "./site.ts";
import { openWorkerDoor } from "./worker-door.ts";
import { planWorkers, type WorkerPlan } from "./worker-plan.ts";
import { ContainerMaker } from "./worker/container-maker.ts";
import { readLine } from "./worker/printed-line.ts";
import { PreviewWorker } from "./worker/preview-worker.ts";

export const SILENT: AgentLog = { info: () => {}, warn: () => {}, error: () => {} };

export type PreviewOrder = Pick<BuildResult, "appName" | "manifest" | "artifact" | "warnings"> & {
  /** The first one that is tried. */
  readonly port: number;
};

/** Runs until the person stops it. Throws a Failure when a container does not become ready. */
export async function runPreview(cli: Cli, docker: Dockerode, order: PreviewOrder): Promise<void> {
  const preview = new Preview(cli, docker, order);
  try {
    const server = await preview.start();
    showPreview(cli, order, server, preview.workers);
    if (!cli.signal.aborted) await once(cli.signal, "abort");
  } catch (error) {
    throw explained(error);
  } finally {
    await preview.close();
  }
}

/** Removes what killed previews have left on this computer. */
export async function tidy(cli: Cli, docker: Dockerode): Promise<void> {
  const count = await clearLeftovers(docker);
  if (count > 0) cli.terminal.say(`  Removed ${counted(count, "container")} of a preview that was killed.`);
}

/** What Docker refuses is no fault of this command. */
function explained(error: unknown): unknown {
  const isOfDocker = error instanceof Error && "statusCode" in error;
  return isOfDocker ? new Failure(`Docker refused: ${error.message}`) : error;
}

class Preview {
  readonly #cli: Cli;
  readonly #docker: Dockerode;
  readonly #order: PreviewOrder;
  readonly #workers = new Map<string, PreviewWorker>();
  /** What is to be done at the end, the last one first. */
  readonly #endings: (() => Promise<unknown>)[] = [];

  constructor(cli: Cli, docker: Dockerode, order: PreviewOrder) {
    this.#cli = cli;
    this.#docker = docker;
    this.#order = order;
  }

  get workers(): ReadonlyMap<string, PreviewWorker> {
    return this.#workers;
  }

  async start(): Promise<LocalServer> {
    const site = await newSite();
    this.#cli.onForceQuit?.(() => this.#left(site));
    const key = `preview_${randomBytes(24).toString("hex")}`;
    this.#cli.hide?.(key);
    const app = servedApp(this.#order.manifest, this.#order.appName);
    const calls = new PreviewCalls(this.#workers);
    const log = openCallLog(this.#cli);
    const { manifest } = this.#order;
    const endpoints = await app.endpoints();
    const peers = await startPeerService({ key, manifest, endpoints, calls, log });
    this.#endings.push(() => peers.close());
    const plans = await this.#plan(site, key, peers);
    const machine = await readMachine(this.#docker);
    await ensureImages(this.#cli, this.#docker, plans, machine.platform);
    await this.#startWorkers(await this.#maker(site, peers, machine), plans);
    const server = await startLocalServer(this.#cli, {
      app,
      calls,
      log,
      host: "localhost",
      port: this.#order.port,
    });
    this.#endings.push(() => server.close());
    return server;
  }

  /** V1: what cannot be removed does not keep the rest. */
  async close(): Promise<void> {
    if (this.#endings.length === 0) return;
    const step = this.#cli.terminal.step("Stopping");
    const faults: unknown[] = [];
    for (const end of this.#endings.toReversed()) await end().catch((fault: unknown) => faults.push(fault));
    if (faults.length === 0) return step.done("Stopped; containers and network are removed");
    step.fail("Not everything could be removed");
    for (const fault of faults)
      this.#cli.terminal.warn(fault instanceof Error ? fault.message : String(fault));
  }

  /** For who has no time to wait until it is removed. */
  #left({ networkName }: Site): readonly string[] {
    if (this.#workers.size === 0) return [];
    return [`The containers on the network ${networkName} are left; the next preview removes them.`];
  }

  async #plan(site: Site, key: string, peers: PeerService): Promise<readonly WorkerPlan[]> {
    const { hide } = this.#cli;
    const dotEnv = await findEnvironmentFile(this.#cli);
    const { plans, secrets } = planWorkers({
      manifest: this.#order.manifest,
      id: site.id,
      calls: { url: peers.url, key },
      secrets: dotEnv?.entries ?? {},
    });
    for (const secret of secrets) hide?.(secret);
    return plans;
  }

  async #maker(site: Site, peers: PeerService, machine: Machine): Promise<ContainerMaker> {
    const files = await layOutFiles(this.#cli, this.#order.artifact.path);
    this.#cli.onForceQuit?.(() => [
      "What is left of the preview, the next `flash deploy --preview` here removes.",
    ]);
    this.#endings.push(() => files.remove());
    this.#endings.push(() => clear(this.#docker, site.id));
    const gateway = await makeNetwork(this.#docker, site);
    const door = await openWorkerDoor(gateway, peers.url, (id) =>
      [...this.#workers.values()].find((worker) => worker.id === id),
    );
    this.#endings.push(() => door.close());
    return new ContainerMaker({ docker: this.#docker, site, access: door, files, ...machine });
  }

  async #startWorkers(maker: ContainerMaker, plans: readonly WorkerPlan[]): Promise<void> {
    const { terminal, signal } = this.#cli;
    signal.throwIfAborted();
    const startedAt = performance.now();
    const what = counted(plans.length, "container");
    const step = terminal.step(`Starting ${what}`);
    for (const plan of plans) this.#workers.set(plan.name, this.#worker(plan, maker));
    const workers = [...this.#workers.values()];
    this.#endings.push(() => Promise.all(workers.map((worker) => worker.close())));
    const waiting = new Set(workers.map(({ name }) => name));
    const givenUp = new AbortController();
    signal.addEventListener("abort", () => givenUp.abort(), { once: true });
    const starts = workers.map(async (worker) => {
      await worker.start(givenUp.signal);
      waiting.delete(worker.name);
      step.update(`waiting for ${[...waiting].join(", ")}`);
    });
    try {
      await Promise.all(starts);
      step.done(`Started ${what} (${secondsSince(startedAt)} s)`);
    } catch (error) {
      step.fail("Starting failed");
      givenUp.abort();
      // What is on its way would outlive the end of this preview.
      await Promise.allSettled(starts);
      signal.throwIfAborted();
      throw error;
    }
  }

  #worker(plan: WorkerPlan, maker: ContainerMaker): PreviewWorker {
    const { terminal } = this.#cli;
    const { dim } = terminal.palette;
    return new PreviewWorker({
      plan,
      maker,
      onLine: (line) => {
        for (const text of readLine(line)) terminal.say(`  ${dim(`${plan.name} │`)} ${text}`);
      },
      onNotice: (text) => terminal.warn(text),
      log: SILENT,
    });
  }
}
