/** An edge and one agent on this computer, on one state directory, kept running until they are stopped. */
import { AGENT_END_LIMIT_MS, type AgentSettings, startAgent } from "./agent.ts";
import { type EdgeSettings, startEdge } from "./edge.ts";
import { Guard } from "./guard.ts";
import { createJoinToken, managementApi } from "./management-api.ts";
import { supervise, type Supervisor, type SupervisedProcess } from "./supervised-process.ts";
import type { StateDirectory } from "./state-directory.ts";

/** Stops after the agent, which still talks to the edge while it removes its workers. */
const EDGE_KILL_GRACE_MS = 0;
const AGENT_NAME = "local";

export type InstallationSettings = {
  readonly state: StateDirectory;
  readonly apiKey: string;
  /** Receives what happens to edge and agent, line by line. */
  readonly notify: (line: string) => void;
  /** The program of the guard, where it is not beside this file. */
  readonly guardProgram?: string;
};

export class Installation {
  readonly #settings: InstallationSettings;
  readonly #stopped = new AbortController();
  #guard: Guard | undefined;
  /** In the order of their start; stopped in reverse order. */
  readonly #supervisors: Supervisor[] = [];
  #stopping: Promise<void> | undefined;
  #url = "";

  constructor(settings: InstallationSettings) {
    this.#settings = settings;
  }

  /** URL of the edge, once it has started. */
  get url(): string {
    return this.#url;
  }

  /** Aborts when the installation stops. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  /** Everything that is started after this call ends with this process. Throws StateInUse. */
  async claim(url: string): Promise<void> {
    const { state, guardProgram } = this.#settings;
    await state.claim(url);
    this.#guard = new Guard(guardProgram);
    state.update({ guard: this.#guard.identity() });
  }

  /** With port 0 the first start chooses a port, and later ones use it again. */
  async startEdge(settings: Omit<EdgeSettings, "persistenceDirectory" | "logPath">): Promise<void> {
    const { state } = this.#settings;
    const paths = { persistenceDirectory: state.file("edge"), logPath: state.file("edge.log") };
    let { port } = settings;
    await this.#supervise("edge", EDGE_KILL_GRACE_MS, async () => {
      const edge = await startEdge({ ...settings, ...paths, port });
      ({ port } = edge);
      return edge;
    });
    this.#url = `http://127.0.0.1:${port}`;
    state.update({ url: this.#url });
  }

  async startAgent(
    settings: Pick<AgentSettings, "program" | "runtime" | "workerPython" | "desktopNetwork" | "logsJobs">,
  ): Promise<void> {
    const { state, apiKey } = this.#settings;
    const api = managementApi(this.#url, apiKey);
    const place = { stateDirectory: state.file("agent"), logPath: state.file("agent.log") };
    const edgeUrl = this.#url;
    // A new token for each start of the agent, since an agent that lost its state joins again.
    await this.#supervise("agent", AGENT_END_LIMIT_MS, async () =>
      startAgent({ ...settings, ...place, edgeUrl, joinToken: await createJoinToken(api, AGENT_NAME) }),
    );
  }

  /** Ends everything that was started. May be called at any time, and more than once. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    await this.#stopping;
  }

  async #stopAll(): Promise<void> {
    this.#stopped.abort();
    for (const supervisor of this.#supervisors.toReversed()) await supervisor.stop();
    this.#guard?.dismiss();
  }

  async #supervise(
    name: "edge" | "agent",
    graceMs: number,
    start: () => Promise<SupervisedProcess>,
  ): Promise<void> {
    this.#stopped.signal.throwIfAborted();
    const { state, notify } = this.#settings;
    const supervisor = await supervise({
      name,
      start,
      onStarted: ({ pid }) => {
        this.#guard?.watch(name, pid, graceMs);
        state.update(name === "edge" ? { edgePid: pid } : { agentPid: pid });
      },
      notify,
    });
    this.#supervisors.push(supervisor);
    if (this.#stopped.signal.aborted) await supervisor.stop();
  }
}
