import { errorCode } from "../../src/std/errors.ts";
import pRetry, { AbortError } from "p-retry";
import * as z from "zod";
import { chmod, mkdir, readFile, rename, writeFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JoinRequest } from "../../src/contract/agent/agent.ts";
import type { AgentLog } from "../core/log.ts";
import { EXIT_FATAL, Failure } from "../../src/std/failure.ts";
import { EdgeClient } from "./edge-client.ts";
import { Reachability } from "./edge-context.ts";

/** The identity of this host at the edge. */
const hostCredentialSchema = z.object({ hostId: z.string(), hostToken: z.string(), edgeUrl: z.string() });
export type HostCredential = z.infer<typeof hostCredentialSchema>;

const FILE_NAME = "host.json";
const JOIN_TIMEOUT_MS = 30_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;

/** Reads the credential of an earlier start; undefined when this host never joined. */
export async function loadCredential(stateDir: string): Promise<HostCredential | undefined> {
  const path = credentialPath(stateDir);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    return hostCredentialSchema.parse(JSON.parse(text));
  } catch {
    throw new Error(`${path} cannot be read. Remove it and start the agent with a new join token.`);
  }
}

export async function saveCredential(stateDir: string, credential: HostCredential): Promise<void> {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const path = credentialPath(stateDir);
  const draft = `${path}.new`;
  await writeFile(draft, `${JSON.stringify(credential)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600); // a left-over draft keeps its mode
  await rename(draft, path);
}

/** Renames a credential that the edge does not accept, so that the host can join again. */
export async function setCredentialAside(stateDir: string): Promise<void> {
  await rename(credentialPath(stateDir), `${credentialPath(stateDir)}.refused`);
}

export function credentialPath(stateDir: string): string {
  return join(stateDir, FILE_NAME);
}

/** Joins the host with a join token. Waits for an unreachable edge; throws when the edge rejects the host. */
export async function joinHost(
  edgeUrl: string,
  request: JoinRequest,
  { log, signal }: { log: AgentLog; signal: AbortSignal },
): Promise<HostCredential> {
  const client = new EdgeClient(edgeUrl, null);
  const reachability = new Reachability(log);
  const attempt = async (): Promise<HostCredential> => {
    const outcome = await client.join(request, { timeoutMs: JOIN_TIMEOUT_MS, signal });
    switch (outcome.kind) {
      case "answered":
        reachability.answered("join");
        return { ...outcome.reply, edgeUrl };
      case "unreachable":
        reachability.failed("join", outcome.detail);
        throw new Error(outcome.detail);
      case "unauthorized":
        throw rejected(`The edge does not accept this host: ${outcome.detail}`);
      case "refused":
        throw rejected(`The edge refused this host (status ${outcome.status}): ${outcome.detail}`);
    }
  };
  const backOff = { minTimeout: RETRY_MIN_MS, maxTimeout: RETRY_MAX_MS, randomize: true };
  return pRetry(attempt, { ...backOff, retries: Number.POSITIVE_INFINITY, signal });
}

/** Ends the attempts to join. */
function rejected(message: string): AbortError {
  return new AbortError(new Failure(message, [], EXIT_FATAL));
}

export async function readJoinTokenFile(stateDir: string): Promise<string | undefined> {
  try {
    return (await readFile(pathOf(stateDir), "utf8")).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** To be called when the host is known to the edge: a token is for one join. */
export async function removeJoinTokenFile(stateDir: string): Promise<void> {
  await rm(pathOf(stateDir), { force: true });
}

function pathOf(stateDir: string): string {
  return join(stateDir, "join-token");
}
