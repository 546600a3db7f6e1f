/** `edgerun-agent status`: what runs on this host. */
import { setTimeout as delay } from "node:timers/promises";
import { type ArtifactUsage, formatArtifactUsage } from "../artifacts/artifact-directory.ts";
import { type AgentStatus, displayState, queryAgent } from "../host/status-server.ts";
import { PINNED_KEY } from "../host/agent-signature.ts";

const POLL_INTERVAL_MS = 200;

/** Waits until an agent that fits answers; undefined when none did in time. */
export async function waitForAgent(
  stateDir: string,
  limitMs: number,
  fits: (status: AgentStatus) => boolean,
): Promise<AgentStatus | undefined> {
  const until = performance.now() + limitMs;
  for (;;) {
    const status = await queryAgent(stateDir).catch(() => undefined); // between two agents it may hang up
    if (status && fits(status)) return status;
    if (performance.now() >= until) return undefined;
    await delay(POLL_INTERVAL_MS);
  }
}

export function isConnected({ lastContactAt }: AgentStatus): boolean {
  return lastContactAt !== null;
}

/** The status as lines that users read. */
export function statusLines(
  status: AgentStatus,
  now: number,
  artifacts: ArtifactUsage = { count: 0, bytes: 0 },
  key = PINNED_KEY,
): readonly string[] {
  const { version, pid, edgeUrl, name, hostId, runtime, workers, jobs, notice, lastContactAt } = status;
  const contact = lastContactAt === null ? "never" : `${Math.round((now - lastContactAt) / 1_000)} s ago`;
  return [
    `edgerun-agent ${version} runs as process ${pid}, with ${runtime}`,
    `host     ${name} (${hostId})`,
    `edge     ${edgeUrl}, last heard ${contact}`,
    ...(key === null ? [] : [`key      the next agent must be signed by ${key}`]),
    `workers  ${workers.length}, with ${jobs} job${jobs === 1 ? "" : "s"}`,
    ...workers.map((worker) => {
      const { workerId, endpointId, detail = "" } = worker;
      return `  ${workerId}  ${endpointId}  ${displayState(worker)}  ${detail}`.trimEnd();
    }),
    ...(artifacts.bytes > 0 ? [`kept     ${formatArtifactUsage(artifacts)}`] : []),
    ...(notice ? [notice.message] : []),
  ];
}
