/** What a machine needs to become a host: the script that installs the agent, and the agent itself. */
import { quote } from "shlex";
import { publicOrigin } from "../../net/insecure-url.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { AgentContext } from "./context.ts";

/** The line of the script that this edge puts its own address into. */
const EDGE_LINE = /^EDGE=$/m;

/** `GET /agent/install.sh`: the script, which knows the edge that it came from. */
export async function installScript(context: AgentContext): Promise<Response> {
  const found = await asset(context, "/agent/install.sh");
  // Its media type is not one that `text()` takes for text.
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
