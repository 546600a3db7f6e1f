/**
 * `edgerun-agent upgrade`: the agent of the edge takes the place of this one.
 *
 * U1  Nothing is replaced before the new file has its hash, is signed by the key that this agent has from its
 *     deployment, and starts.
 * U2  Workers and their jobs continue: the new agent takes them over.
 * U3  An agent that does not connect in time is replaced by the previous one.
 */
import { createHash } from "node:crypto";
import { copyFile, readFile, rename, writeFile } from "node:fs/promises";
import { runCommand } from "../host/command.ts";
import { agentFiles, hasService, restartService } from "../host/service.ts";
import { queryAgent } from "../host/status-server.ts";
import { AGENT_PATH, FETCH_LIMIT_MS, fetchSignature, signatureIssue } from "../host/agent-signature.ts";
import { isConnected, waitForAgent } from "./status.ts";

export type UpgradeSettings = {
  readonly edgeUrl: string;
  readonly stateDir: string;
  /** The file that runs as the agent. */
  readonly agentPath: string;
  readonly connectLimitMs: number;
  /** The key by which the new agent must be signed; null for an agent that has none. */
  readonly trustedKey: string | null;
  readonly say: (line: string) => void;
};

/** Returns the exit code; throws errors with messages for the user. */
export async function upgrade(settings: UpgradeSettings): Promise<number> {
  const { agentPath, say } = settings;
  const files = agentFiles(agentPath);
  const bundle = await fetchBundle(settings.edgeUrl);
  if (bundle.equals(await readFile(files.current))) {
    say("This host has the agent of the edge already.");
    return 0;
  }
  if (settings.trustedKey !== null) await requireSignature(settings.edgeUrl, bundle, settings.trustedKey); // U1
  await writeFile(files.next, bundle, { mode: 0o644 });
  const version = await versionOf(files.next); // U1
  await copyFile(files.current, files.previous);
  await rename(files.next, files.current);
  say(`Installed edgerun-agent ${version}.`);
  if (!hasService()) {
    say("No service keeps the agent running: restart it. Its workers run on meanwhile.");
    return 0;
  }
  return (await restartAs(settings)) ? 0 : await rollback(settings);
}

async function fetchBundle(edgeUrl: string): Promise<Buffer> {
  const bundle = await fetchFile(`${edgeUrl}${AGENT_PATH}`);
  const expected = (await fetchFile(`${edgeUrl}${AGENT_PATH}.sha256`)).toString().trim();
  const hash = createHash("sha256").update(bundle).digest("hex");
  if (hash === expected) return bundle;
  throw new Error(
    `What ${edgeUrl} sent is not what it should be: its SHA-256 is ${hash}, not ${expected}. If the edge was deployed at this moment, try again.`,
  );
}

async function requireSignature(edgeUrl: string, bundle: Buffer, trustedKey: string): Promise<void> {
  const issue = signatureIssue(bundle, await fetchSignature(edgeUrl), trustedKey);
  if (issue === null) return;
  throw new Error(
    `The agent of ${edgeUrl} is not installed, and the one that runs stays: ${issue}. ` +
      "If the installation has lost its key, ask its operator for the new one: edgerun-agent upgrade --accept-key <key>",
  );
}

async function fetchFile(url: string): Promise<Buffer> {
  const limit = AbortSignal.timeout(FETCH_LIMIT_MS);
  const response = await fetch(url, { signal: limit, redirect: "error" }); // it might lead to plain HTTP
  if (!response.ok) throw new Error(`${url} answered with status ${response.status}.`);
  return Buffer.from(await response.arrayBuffer());
}

async function versionOf(path: string): Promise<string> {
  const end = await runCommand(process.execPath, [path, "--version"]);
  if (end.kind === "ended" && end.code === 0) return end.stdout.trim();
  throw new Error(
    `The new agent does not start on Node ${process.version}: ${end.kind === "ended" ? end.output : "no Node"}`,
  );
}

/** Whether another process than before is the agent now, and heard the edge. */
async function restartAs({ stateDir, connectLimitMs, say }: UpgradeSettings): Promise<boolean> {
  const before = await queryAgent(stateDir).catch(() => undefined);
  await restartService();
  const status = await waitForAgent(
    stateDir,
    connectLimitMs,
    (now) => now.pid !== before?.pid && isConnected(now),
  );
  if (status) say(`It is connected, with ${status.workers.length} workers.`);
  return status !== undefined;
}

async function rollback(settings: UpgradeSettings): Promise<number> {
  const { agentPath, connectLimitMs, say } = settings;
  const { current, previous, next } = agentFiles(agentPath);
  say(`It did not connect within ${connectLimitMs / 1_000} s; the previous agent is restored.`);
  await copyFile(previous, next);
  await rename(next, current);
  if (!(await restartAs(settings))) say("That one does not connect either. See: edgerun-agent doctor");
  return 1;
}
