/** A host of its own on the shared edge: a third of what a whole Edgerun costs, for tests that leave the edge alone. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bundledAgent } from "../../scripts/bundle/assets.ts";
import { type RuntimeKind, startAgent } from "../../standalone/agent.ts";
import { createJoinToken, managementApi } from "../../standalone/management-api.ts";
import { supervise } from "../../standalone/supervised-process.ts";
import type { EdgeAccess } from "./lone-edge.ts";
import { newAccount } from "./shared-edge.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** Where the edge is, the key of an account that has this one host, and the host. */
export type AccountHost = EdgeAccess &
  AsyncDisposable & {
    /** Has `agent.log`, and the agent's own state in `agent`. */
    readonly stateDirectory: string;
    /** Process id of the agent as it is now: it is started again when it ends. */
    agentPid(): number;
    /** Stops the agent with its workers and removes the state directory. */
    stop(): Promise<void>;
  };

/**
 * Makes an account of that name with one host; the agent runs as beside `npm start`, and joins in a moment.
 * `interpreter`: the Python of workers, where it is not the one on the PATH.
 */
export async function startAccountHost(
  name: string,
  runtime: RuntimeKind,
  interpreter?: string,
): Promise<AccountHost> {
  const access = await newAccount(name);
  const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-host-"));
  const api = managementApi(access.baseUrl, access.apiKey);
  let agentPid = 0;
  const start = async () =>
    startAgent({
      program: bundledAgent(ROOT),
      edgeUrl: access.baseUrl,
      stateDirectory: join(stateDirectory, "agent"),
      logPath: join(stateDirectory, "agent.log"),
      runtime,
      joinToken: await createJoinToken(api, "local"),
      workerPython: { interpreter, packageDirectory: join(ROOT, "sdk/python/src") },
    });
  const supervisor = await supervise({
    name: "agent",
    start,
    onStarted: ({ pid }) => (agentPid = pid),
    notify: (line) => console.info(`${name}: ${line}`),
  });
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    await rm(stateDirectory, { recursive: true, force: true });
  };
  return { ...access, stateDirectory, agentPid: () => agentPid, stop, [Symbol.asyncDispose]: stop };
}
