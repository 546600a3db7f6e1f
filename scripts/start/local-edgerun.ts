/** Edgerun on this machine: the edge, one agent and the example, from start to stop. */
import { join } from "node:path";
import { ensureHelloImage } from "../images/node-image.ts";
import { AGENT_END_LIMIT_MS, startAgent } from "./agent.ts";
import { bannerLines, printOutcome } from "./banner.ts";
import { BUNDLE_FOLDER, ensureEdgeBundle } from "./bundle.ts";
import { startEdge } from "./edge.ts";
import { ensureExample, runExampleJob, type ExampleEndpoint, type ExampleWorker } from "./example.ts";
import { Guard } from "./guard.ts";
import { createJoinToken, managementApi, type ManagementApi } from "./management-api.ts";
import type { RuntimeKind, StartOptions } from "./options.ts";
import { keepRunning, type KeptPart } from "./part.ts";
import { requireFreePort } from "./port.ts";
import { chooseRuntime } from "./runtime-choice.ts";
import { StateDirectory } from "./state-directory.ts";

/** After the agent: it still talks to the edge while it removes its workers. */
const EDGE_KILL_GRACE_MS = 0;

export class LocalEdgerun {
  readonly #root: string;
  readonly #options: StartOptions;
  readonly #say: (line: string) => void;
  readonly #url: string;
  readonly #stopped = new AbortController();
  readonly #state: StateDirectory;
  readonly #apiKey: string;
  #guard: Guard | undefined;
  /** In the order of their start; stopped in the reverse one. */
  readonly #parts: KeptPart[] = [];
  #stopping: Promise<void> | undefined;

  constructor(root: string, options: StartOptions, say: (line: string) => void) {
    this.#root = root;
    this.#options = options;
    this.#say = say;
    this.#url = `http://127.0.0.1:${options.port}`;
    this.#state = new StateDirectory(options.stateDirectory);
    this.#apiKey = options.apiKey ?? this.#state.apiKey();
  }

  get isStopping(): boolean {
    return this.#stopped.signal.aborted;
  }

  /** Starts everything; resolves true unless the example job did not complete. */
  async start(): Promise<boolean> {
    const runtime = this.#options.hasAgent ? await chooseRuntime(this.#options.runtime) : undefined;
    await this.#state.claim(this.#url);
    await requireFreePort(this.#options.port);
    this.#guard = new Guard();
    this.#state.update({ guard: this.#guard.identity() });

    await this.#startEdge();
    this.#say(`ready ${this.#url}`);

    const api = managementApi(this.#url, this.#apiKey);
    if (runtime) await this.#startAgent(api, runtime);
    const example = runtime && this.#options.hasExample ? await this.#ensureExample(api, runtime) : undefined;
    const isWell = example ? await this.#runExample(example) : true;
    const { stateDirectory } = this.#options;
    const facts = { url: this.#url, apiKey: this.#apiKey, stateDirectory, runtime, example };
    bannerLines(facts).forEach((line) => this.#say(line));
    return isWell;
  }

  /** Ends everything that was started; safe to call at any time and more than once. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stopParts();
    await this.#stopping;
  }

  async #stopParts(): Promise<void> {
    this.#stopped.abort();
    for (const part of this.#parts.toReversed()) await part.stop();
    this.#guard?.release();
  }

  async #keep(name: string, graceMs: number, start: Parameters<typeof keepRunning>[0]["start"]) {
    this.#stopped.signal.throwIfAborted();
    const part = await keepRunning({
      name,
      start,
      onStarted: ({ pid }) => {
        this.#guard?.watch(name, pid, graceMs);
        this.#state.update(name === "edge" ? { edgePid: pid } : { agentPid: pid });
      },
      say: this.#say,
    });
    this.#parts.push(part);
    if (this.isStopping) await part.stop();
  }

  async #startEdge(): Promise<void> {
    const bundleDirectory = this.#state.file(BUNDLE_FOLDER);
    await ensureEdgeBundle(this.#root, bundleDirectory, this.#say);
    const settings = {
      configPath: join(this.#root, "wrangler.toml"),
      bundleDirectory,
      migrationsDirectory: join(this.#root, "drizzle"),
      persistenceDirectory: this.#state.file("edge"),
      logPath: this.#state.file("edge.log"),
      port: this.#options.port,
      inspectorPort: this.#options.inspectorPort,
      bindings: {
        ROOT_API_KEY: this.#apiKey,
        ENCRYPTION_KEYS: this.#state.encryptionKeys(),
        GPU_PRICES: process.env["GPU_PRICES"] ?? "",
        LB_WAIT_SECONDS: process.env["LB_WAIT_SECONDS"] ?? "",
        WEBHOOK_ALLOW_PRIVATE: String(this.#options.allowsPrivateWebhooks),
      },
    };
    await this.#keep("edge", EDGE_KILL_GRACE_MS, () => startEdge(settings));
  }

  async #startAgent(api: ManagementApi, runtime: RuntimeKind): Promise<void> {
    const settings = {
      root: this.#root,
      edgeUrl: this.#url,
      stateDirectory: this.#state.file("agent"),
      logPath: this.#state.file("agent.log"),
      runtime,
    };
    // A token for each start of the agent: one that lost its state joins anew.
    await this.#keep("agent", AGENT_END_LIMIT_MS, async () =>
      startAgent({ ...settings, joinToken: await createJoinToken(api, "local") }),
    );
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
      const { image } = await ensureHelloImage({ say: this.#say });
      return { imageName: image, dockerArgs: "" };
    }
    const path = join(this.#root, "examples/hello/worker.mjs");
    return { imageName: "edgerun/process", dockerArgs: `node ${path.includes(" ") ? `"${path}"` : path}` };
  }

  async #runExample(example: ExampleEndpoint): Promise<boolean> {
    const target = { url: this.#url, apiKey: this.#apiKey };
    const outcome = await runExampleJob(example.id, target, this.#stopped.signal, this.#say);
    if (!this.isStopping) printOutcome(outcome, this.#say);
    return outcome.kind === "completed";
  }
}
