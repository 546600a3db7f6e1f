/** The agent as one file that plain Node runs. */
import { join } from "node:path";
import { build } from "esbuild";
import { AGENT_NODE_MIN } from "../src/contract/agent-version.ts";
import { nodeProgram } from "./node-program.ts";

/** Builds the agent; the same sources give the same bytes. */
export async function bundleAgent(root: string): Promise<Buffer> {
  const { outputFiles } = await build({
    ...nodeProgram(root, AGENT_NODE_MIN),
    entryPoints: [join(root, "node-agent/main.ts")],
    write: false,
    minifyWhitespace: true,
  });
  const [bundle] = outputFiles;
  if (!bundle) throw new Error("esbuild made no file of the agent.");
  return Buffer.from(bundle.contents);
}
