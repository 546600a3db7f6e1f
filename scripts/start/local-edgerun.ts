/** Edgerun on this machine: the edge, one agent and the example, from start to stop. */
import { dockerAnswers } from "../../standalone/docker-daemon.ts";
import { join } from "node:path";
import type { RuntimeKind } from "../../standalone/agent.ts";
import { readEdgeBuild } from "../../standalone/edge-build.ts";
import { Failure } from "../../src/std/failure.ts";
import { Installation } from "../../standalone/installation.ts";
import { managementApi, type ManagementApi } from "../../standalone/management-api.ts";
import { StateDirectory, StateInUse } from "../../standalone/state-directory.ts";
import { bundledAgent } from "../bundle/assets.ts";
import { buildPackages } from "../bundle/packages.ts";
import { bannerLines, printOutcome } from "./banner.ts";
import { BUNDLE_FOLDER, ensureEdgeBundle } from "../bundle/edge-bundle.ts";
import { ensureExample, runExampleJob, type ExampleEndpoint, type ExampleWorker } from "./example.ts";
import { followJobs } from "./job-lines.ts";
import type { StartOptions } from "./options.ts";
import { requireFreePort } from "./port.ts";

export class LocalEdgerun {
  readonly #root: string;
  readonly #options: StartOptions;
  readonly #say: (line: string) => void;
  readonly #url: string;
  readonly #state: StateDirectory;
  readonly #apiKey: string;
  readonly #installation: Installation;

  constructor(root: string, options: StartOptions, say: (line: string) => void) {
    this.#root = root;
    this.#options = options;
    this.#say = say;
    this.#url = `http://127.0.0.1:${options.port}`;
    this.#state = new StateDirectory(options.stateDirectory);
    this.#apiKey = options.apiKey ?? this.#state.apiKey();
    this.#installation = new Installation({ state: this.#state, apiKey: this.#apiKey, notify: say });
  }

  get isStopping(): boolean {
    return this.#installation.stopped.aborted;
  }

  /** Starts everything; resolves true unless the example job did not complete. */
  async start(): Promise<boolean> {
    const runtime = this.#options.hasAgent ? await chooseRuntime(this.#options.runtime) : undefined;
    await this.#claim();
    await this.#startEdge();
    this.#say(`ready ${this.#url}`);

    const api = managementApi(this.#url, this.#apiKey);
    if (runtime) await this.#startAgent(runtime);
    const example = runtime && this.#options.hasExample ? await this.#ensureExample(api, runtime) : undefined;
    const isWell = example ? await this.#runExample(example) : true;
    const { stateDirectory } = this.#options;
    const signInLink = await createSignInLink(api);
    const facts = { url: this.#url, signInLink, apiKey: this.#apiKey, stateDirectory, runtime, example };
    bannerLines(facts).forEach((line) => this.#say(line));
    if (runtime && !this.#options.isQuiet && !this.isStopping) {
      followJobs(this.#state.file("agent.log"), this.#say, this.#installation.stopped);
    }
    return isWell;
  }

  /** Ends everything that was started; safe to call at any time and more than once. */
  async stop(): Promise<void> {
    await this.#installation.stop();
  }

  async #claim(): Promise<void> {
    try {
      await this.#installation.claim(this.#url);
    } catch (error) {
      if (!(error instanceof StateInUse)) throw error;
      throw new Failure(
        `Edgerun already runs on this state directory, at ${error.url} (process ${error.pid}).`,
        [
          "Stop it with Ctrl+C in its terminal,",
          "or start a second one beside it: npm start -- --state <other directory> --port <other port>",
        ],
      );
    }
    await requireFreePort(this.#options.port);
  }

  async #startEdge(): Promise<void> {
    const directory = this.#state.file(BUNDLE_FOLDER);
    await ensureEdgeBundle(this.#root, directory, this.#say);
    await buildPackages(this.#root, this.#say);
    await this.#installation.startEdge({
      build: await readEdgeBuild(directory),
      packages: this.#root,
      port: this.#options.port,
      inspectorPort: this.#options.inspectorPort,
      bindings: {
        ROOT_API_KEY: this.#apiKey,
        ENCRYPTION_KEYS: this.#state.encryptionKeys(),
        GPU_PRICES: process.env["GPU_PRICES"] ?? "",
        MODEL_SOURCE: process.env["MODEL_SOURCE"] ?? "",
        LB_WAIT_SECONDS: process.env["LB_WAIT_SECONDS"] ?? "",
        TUNNEL_IDLE_SECONDS: process.env["TUNNEL_IDLE_SECONDS"] ?? "",
        WEBHOOK_ALLOW_PRIVATE: String(this.#options.allowsPrivateWebhooks),
      },
    });
  }

  async #startAgent(runtime: RuntimeKind): Promise<void> {
    await this.#installation.startAgent({
      program: bundledAgent(this.#root),
      runtime,
      logsJobs: true,
      workerPython: { packageDirectory: join(this.#root, "sdk/python/src") },
    });
  }

  async #ensureExample(api: ManagementApi, runtime: RuntimeKind): Promise<ExampleEndpoint> {
    const example = await ensureExample(api, await this.#exampleWorker(runtime));
    this.#state.update({ endpointId: example.id });
    this.#say(
      `Example endpoint ${example.id} ${example.isNew ? "created" : "found"}; running one job on it ...`,
    );
    return example;
  }

  async #exampleWorker(runtime: RuntimeKind): Promise<ExampleWorker> {
    if (runtime === "docker") {
      const { ensureHelloImage } = await import("../images/node-image.ts"); // loads the Docker client
      const { image } = await ensureHelloImage({ say: this.#say });
      return { imageName: image, dockerArgs: "" };
    }
    const path = join(this.#root, "examples/hello/worker.mjs");
    return { imageName: "edgerun/process", dockerArgs: `node ${path.includes(" ") ? `"${path}"` : path}` };
  }

  async #runExample(example: ExampleEndpoint): Promise<boolean> {
    const target = { url: this.#url, apiKey: this.#apiKey };
    const outcome = await runExampleJob(example.id, target, this.#installation.stopped, this.#say);
    if (!this.isStopping) printOutcome(outcome, this.#say);
    return outcome.kind === "completed";
  }
}

/** Opens the console without a key, in the first browser that follows it. */
async function createSignInLink(api: ManagementApi): Promise<string> {
  const made = await api.query<{ createSignInLink: { url: string } }>(
    "mutation { createSignInLink { url } }",
  );
  return made.createSignInLink.url;
}

/** Docker if a daemon answers, else plain processes. An explicitly requested Docker must be there. */
async function chooseRuntime(requested: RuntimeKind | undefined): Promise<RuntimeKind> {
  if (requested === "process") return "process";
  if (await dockerAnswers()) return "docker";
  if (requested === undefined) return "process";
  throw new Failure("No Docker daemon answers.", [
    "Start Docker (or set DOCKER_HOST), or run workers as plain processes:",
    "npm start -- --runtime process",
  ]);
}
