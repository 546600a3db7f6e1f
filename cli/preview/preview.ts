/**
 * `flash deploy --preview`: deploys a build to a separate edge on this computer, whose workers run in Docker.
 *
 * V1  However a preview ends, everything that it created is removed. What a killed preview leaves behind ends within
 *     seconds without help; what remains even then, the next preview in this project removes.
 */
import { errorMessage } from "../../src/std/errors.ts";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { buildApp, type BuildOptions, type BuildResult } from "../build/build.ts";
import { findEnvironmentFile } from "../configuration/environment-file.ts";
import { serviceAt } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";
import { deploy, type DeployedEndpoint } from "../deploy/deployment.ts";
import { ensureTarget, findApp } from "../deploy/target.ts";
import { uploadWithProgress } from "../deploy/upload.ts";
import { awaitWorkers, type ReadyEndpoint, unreadyOf, type WaitSettings } from "../deploy/worker-wait.ts";
import { openLocalEdge } from "../local/local-edge.ts";
import { appNameOf, FLASH_DIRECTORY } from "../project/project.ts";
import { type LocalServer, startLocalServer } from "../server/local-server.ts";
import { openCallLog } from "../server/terminal-call-log.ts";
import { createSecret, deleteSecret, hostsPresent, listSecrets } from "../service/endpoint-operations.ts";
import { deleteEnvironment } from "../service/flash-operations.ts";
import type { Service } from "../service/service.ts";
import { secondsSince } from "../core/format.ts";
import { inStep } from "../core/terminal.ts";
import { type DockerAccess, openDocker, removeAsRoot } from "./docker-access.ts";
import { PreviewCalls } from "./preview-calls.ts";
import { WorkerOutput } from "./worker-output.ts";
import { prepareManifest, type PreparedManifest } from "./preview-manifest.ts";
import { PREVIEW_ENVIRONMENT, showPreview } from "./preview-report.ts";

const COMMAND = "flash deploy --preview";
const STATE = join(FLASH_DIRECTORY, "preview");
const AGENT_LIMIT_MS = 60_000;
const AGENT_POLL_MS = 200;
/** Last lines of a worker that does not become ready. */
const LINES_SHOWN = 20;

type PreviewOptions = BuildOptions & {
  readonly app?: string;
  /** The first port that the local server tries. */
  readonly port: number;
  /** How long to wait for workers; 0 for not at all. */
  readonly waiting: WaitSettings;
};

type PreviewOrder = Pick<BuildResult, "appName" | "manifest" | "artifact" | "warnings"> &
  Pick<PreviewOptions, "port" | "waiting">;

/** Builds the app and deploys it to an edge on this computer; no service and no key are needed. */
export async function previewApp(cli: Cli, options: PreviewOptions): Promise<void> {
  const appName = await appNameOf(cli, options.app);
  const docker = await openDocker(cli);
  const { port, waiting } = options;
  await runPreview(cli, docker, { ...(await buildApp(cli, appName, options)), port, waiting });
}

/** Runs until Ctrl+C. Throws a Failure when a worker does not become ready. */
async function runPreview(cli: Cli, docker: DockerAccess, order: PreviewOrder): Promise<void> {
  const prepared = prepareManifest(order.manifest, (await findEnvironmentFile(cli))?.entries ?? {});
  for (const secret of Object.values(prepared.secrets)) cli.hide?.(secret);
  const preview = new Preview(cli, docker, { ...order, ...prepared });
  try {
    await preview.start();
    if (!cli.signal.aborted) await once(cli.signal, "abort");
  } finally {
    await preview.close();
  }
}

class Preview {
  readonly #cli: Cli;
  readonly #docker: DockerAccess;
  readonly #order: PreviewOrder & PreparedManifest;
  /** What is to be done at the end, the last one first. */
  readonly #endings: (() => Promise<unknown>)[] = [];

  constructor(cli: Cli, docker: DockerAccess, order: PreviewOrder & PreparedManifest) {
    this.#cli = cli;
    this.#docker = docker;
    this.#order = order;
  }

  async start(): Promise<void> {
    const { manifest, appName, waiting } = this.#order;
    const service = await this.#openEdge();
    const startedAt = Date.now();
    const endpoints = await this.#deploy(service);
    const output = new WorkerOutput(this.#cli, service, startedAt);
    for (const { id, name } of endpoints) if (id !== null) output.follow(id, name);
    const workers = await awaitWorkers(this.#cli, service, { manifest, endpoints, ...waiting });
    requireReady(workers, output);
    const ids = new Map(endpoints.map(({ name, id }) => [name, id ?? ""]));
    const served = Object.entries(manifest.resources).map(([name, resource]) => ({ name, resource }));
    const server = await startLocalServer(this.#cli, {
      app: { name: appName, endpoints: async () => served },
      calls: new PreviewCalls(service, ids, this.#cli.signal),
      log: openCallLog(this.#cli),
      host: "localhost",
      port: this.#order.port,
    });
    this.#endings.push(() => server.close());
    showPreview(this.#cli, this.#order, server, await openPorts(server, endpoints));
  }

  /** V1: what cannot be removed does not keep the rest. */
  async close(): Promise<void> {
    if (this.#endings.length === 0) return;
    const step = this.#cli.terminal.step("Stopping");
    const issues: unknown[] = [];
    for (const end of this.#endings.toReversed()) await end().catch((issue: unknown) => issues.push(issue));
    if (issues.length === 0) return step.done("Stopped; containers and network are removed");
    step.fail("Not everything could be removed");
    for (const issue of issues) this.#cli.terminal.warn(errorMessage(issue));
  }

  async #openEdge(): Promise<Service> {
    const environment = { ...this.#cli.environment, ...this.#docker.environment };
    const stateDirectory = join(this.#cli.directory, STATE);
    const project = createHash("sha256").update(this.#cli.directory).digest("hex").slice(0, 6);
    const desktopNetwork = `flash-preview-${project}`;
    const options = { command: COMMAND, stateDirectory, runtime: "docker", desktopNetwork } as const;
    const edge = await openLocalEdge({ ...this.#cli, environment }, options);
    this.#cli.onForceQuit?.(() => ["The containers of the preview are removed within seconds."]);
    this.#endings.push(() => this.#removeState(stateDirectory));
    this.#endings.push(() => edge.close());
    return serviceAt(this.#cli, edge);
  }

  /** Until the agent has joined, the edge reports for every endpoint that no host can run it. */
  async #awaitAgent(service: Service): Promise<void> {
    const { signal, directory } = this.#cli;
    const endAt = performance.now() + AGENT_LIMIT_MS;
    while (performance.now() < endAt) {
      const { myself } = await service.query(hostsPresent);
      if (myself.hosts.some(({ isPresent }) => isPresent)) return;
      await delay(AGENT_POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
    throw new Failure(`The agent did not connect within ${AGENT_LIMIT_MS / 1_000} s.`, [
      `Its log is ${join(directory, STATE, "agent.log")}.`,
    ]);
  }

  /** What workers wrote to volumes may belong to root. */
  async #removeState(directory: string): Promise<void> {
    const remove = async (): Promise<void> => await rm(directory, { recursive: true, force: true });
    await remove().catch(async () => {
      const [image = ""] = Object.values(this.#order.manifest.resources).map(({ imageName }) => imageName);
      await removeAsRoot(this.#docker.docker, image, directory);
      await remove();
    });
  }

  async #deploy(service: Service): Promise<readonly DeployedEndpoint[]> {
    const { appName, manifest, artifact, secrets } = this.#order;
    await removeLeftover(service, appName);
    for (const [name, value] of Object.entries(secrets))
      await service.mutate(createSecret, { input: { name, value } });
    const target = await ensureTarget(service, appName, PREVIEW_ENVIRONMENT);
    const buildId = await uploadWithProgress(this.#cli, service, {
      appId: target.app.id,
      artifact,
      manifest,
    });
    const startedAt = performance.now();
    const lines = { title: "Deploying to the local edge", failed: "Deploying to the local edge failed" };
    return await inStep(this.#cli.terminal, lines, async (step) => {
      await this.#awaitAgent(service);
      const { endpoints } = await deploy(service, { target, buildId, manifest, prunes: false }, step);
      const failed = endpoints.flatMap(({ name, error }) =>
        error === undefined ? [] : [`${name}: ${error}`],
      );
      if (failed.length > 0) throw new Failure("Not every endpoint could be deployed.", failed);
      step.done(`Deployed to the local edge (${secondsSince(startedAt)} s)`);
      return endpoints;
    });
  }
}

/** A preview that was killed has left its environment, with jobs of its callers, and its secrets. */
async function removeLeftover(service: Service, appName: string): Promise<void> {
  const app = await findApp(service, appName);
  for (const { id } of app?.flashEnvironments ?? []) await service.mutate(deleteEnvironment, { id });
  const { myself } = await service.query(listSecrets);
  for (const { id } of myself.secrets) await service.mutate(deleteSecret, { id });
}

function requireReady(workers: readonly ReadyEndpoint[], output: WorkerOutput): void {
  const failed = unreadyOf(workers);
  const [first] = failed;
  if (first === undefined) return;
  const lines = failed.flatMap(({ name }) => output.lastLines(name).slice(-LINES_SHOWN));
  const reasons = failed.slice(1).map(({ name, reason }) => `${name}: ${reason}`);
  throw new Failure(`The container of ${first.name} does not become ready. ${first.reason}`, [
    ...reasons,
    ...(lines.length > 0 ? lines : ["It has printed nothing."]),
  ]);
}

/** URLs of load-balanced endpoints, by their names. */
async function openPorts(
  server: LocalServer,
  endpoints: readonly DeployedEndpoint[],
): Promise<ReadonlyMap<string, string>> {
  const balanced = endpoints.filter(({ type }) => type === "LB");
  const urls = balanced.map(async ({ name }) => [name, await server.openPort(name)] as const);
  return new Map(await Promise.all(urls));
}
