/** The agent as one file that plain Node runs. */
import { join } from "node:path";
import { build } from "esbuild";
import { AGENT_NODE_MIN } from "../../src/contract/agent/agent-version.ts";
import { nodeProgram } from "./node-program.ts";

/** Builds the agent; the same sources and key give the same bytes. The next agent must be signed by the key, if any. */
export async function bundleAgent(root: string, signingKey = ""): Promise<Buffer> {
  const { outputFiles } = await build({
    ...nodeProgram(root, AGENT_NODE_MIN),
    entryPoints: [join(root, "node-agent/main.ts")],
    define: { EDGERUN_AGENT_KEY: JSON.stringify(signingKey) },
    write: false,
    minifyWhitespace: true,
  });
  const [bundle] = outputFiles;
  if (!bundle) throw new Error("esbuild made no file of the agent.");
  return Buffer.from(bundle.contents);
}
