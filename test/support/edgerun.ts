/** A whole Edgerun for tests: what `npm start` starts, on a free port, with a state directory of its own. */
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { BUNDLE_FOLDER } from "../../scripts/bundle/edge-bundle.ts";
import type { RuntimeKind } from "../../standalone/agent.ts";
import { freePort } from "./free-port.ts";
import { Launch } from "./launch.ts";

export type BareEdgerun = AsyncDisposable & {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly stateDirectory: string;
  /** Process ids as they are now; the edge and the agent get new ones when they are restarted. */
  pids(): { readonly script: number; readonly edge: number; readonly agent: number };
  output(): string;
  printed(pattern: RegExp): Promise<void>;
  /** Stops everything and removes the state directory. */
  stop(): Promise<void>;
};

/** With the example endpoint, which has the hello worker. */
export type Edgerun = BareEdgerun & { readonly endpointId: string };

type Settings = { readonly runtime: RuntimeKind; readonly options?: readonly string[] };

/** Puts the bundle that is built for all tests where a start finds that nothing has changed since. */
export async function layOutBundle(stateDirectory: string, bundle = inject("edgeBundle")): Promise<void> {
  await cp(bundle, join(stateDirectory, BUNDLE_FOLDER), { recursive: true });
}

/** Starts everything and waits until the example job has completed. */
export async function startEdgerun(settings: Settings): Promise<Edgerun> {
  const edgerun = await start(settings);
  const { endpointId } = edgerun;
  if (endpointId === null) {
    await edgerun.stop();
    throw new Error(`There is no example endpoint:\n${edgerun.output()}`);
  }
  return { ...edgerun, endpointId };
}

/** Starts an edge and its agent, without the example. */
export async function startBareEdgerun({ runtime, options = [] }: Settings): Promise<BareEdgerun> {
  return start({ runtime, options: ["--no-example", ...options] });
}

async function start({ runtime, options = [] }: Settings): Promise<Started> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-state-"));
  await layOutBundle(stateDirectory);
  const port = await freePort();
  const launch = new Launch({
    via: "script",
    port,
    stateDirectory,
    options: ["--runtime", runtime, ...options],
  });
  const stop = async (): Promise<void> => {
    await launch.stop();
    await rm(stateDirectory, { recursive: true, force: true });
  };
  try {
    await launch.settled();
    return describeRunning(launch, stateDirectory, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

type Started = BareEdgerun & { readonly endpointId: string | null };

function describeRunning(launch: Launch, stateDirectory: string, stop: () => Promise<void>): Started {
  const { url, endpointId } = launch.record;
  return {
    baseUrl: url,
    apiKey: readFileSync(join(stateDirectory, "api-key"), "utf8").trim(),
    endpointId,
    stateDirectory,
    pids() {
      const { script, edgePid, agentPid } = launch.record;
      if (edgePid === null || agentPid === null) throw new Error("the edge or the agent is not running");
      return { script: script.pid, edge: edgePid, agent: agentPid };
    },
    output: () => launch.output,
    printed: (pattern) => launch.printed(pattern),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
