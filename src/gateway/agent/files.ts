/** Files for hosts: the script that installs the agent, the agent, and the artifacts of apps. */
import { quote } from "shlex";
import { sha256Schema } from "../../contract/agent/artifact.ts";
import { ServiceError } from "../../contract/errors.ts";
import { findArtifactOfHost } from "../../management/flash/artifact-transfers.ts";
import { publicOrigin } from "../../net/public-host.ts";
import { artifactResponse } from "../artifacts/artifact-answer.ts";
import type { AgentContext } from "./context.ts";

/** The line of the script that gets the URL of this edge. */
const EDGE_LINE = /^EDGE=$/m;

/** `GET /agent/install.sh`: the script, with the URL of this edge in it. */
export async function installScript(context: AgentContext): Promise<Response> {
  const found = await asset(context, "/agent/install.sh");
  // `text()` decodes text media types only, and a shell script has another one.
  const template = new TextDecoder().decode(await found.arrayBuffer());
  const script = template.replace(EDGE_LINE, () => `EDGE=${quote(publicOrigin(new URL(context.req.url)))}`);
  return context.body(script, 200, {
    "Content-Type": "text/x-shellscript; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
  });
}

/** `GET /agent/edgerun-agent.mjs`: the agent as one file; with `.sha256` its hash, with `.sig` its signature. */
export async function agentFile(context: AgentContext): Promise<Response> {
  const { path } = context.req;
  const found = await asset(context, path);
  const headers = new Headers(found.headers);
  if (!path.endsWith(".mjs")) headers.set("Content-Type", "text/plain; charset=utf-8");
  headers.set("Cache-Control", "no-cache");
  headers.set("X-Content-Type-Options", "nosniff");
  return new Response(found.body, { status: found.status, headers });
}

async function asset(context: AgentContext, path: string): Promise<Response> {
  const headers = { "If-None-Match": context.req.header("If-None-Match") ?? "" };
  const found = await context.env.ASSETS.fetch(new Request(new URL(path, context.req.url), { headers }));
  if (found.status === 404) throw new ServiceError("not_found", `There is nothing at ${path}.`);
  return found;
}

/**
 * `GET /agent/v1/artifacts/<sha256>`: an artifact, or the part that the Range header asks for, of an app of which Fleet
 * has placed a worker on the host.
 */
export async function sendArtifact(context: AgentContext): Promise<Response> {
  const { data: sha256 } = sha256Schema.safeParse(context.req.param("sha256"));
  if (sha256 === undefined)
    throw new ServiceError("invalid_input", "sha256: must be 64 lower-case hex digits.");
  const artifact = await findArtifactOfHost(context.env, context.get("host"), sha256);
  const response = artifact && (await artifactResponse(context.req.raw, context.env.ARTIFACTS, artifact));
  if (response) return response;
  throw new ServiceError(
    "not_found",
    `No worker of this host has an artifact ${sha256}. Its build may have been deleted; deploy the app again.`,
  );
}
