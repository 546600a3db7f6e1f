/** The agent as one file that plain Node runs. */
import { join } from "node:path";
import { build } from "esbuild";
import { AGENT_NODE_MIN } from "../src/contract/agent-version.ts";
import { withoutDockerExtras } from "./docker-extras.ts";

/** Builds the agent; the same sources give the same bytes. */
export async function bundleAgent(root: string): Promise<Buffer> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, "node-agent/main.ts")],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: `node${AGENT_NODE_MIN}`,
    // Names stay, so that a stack trace in a log says something.
    minifySyntax: true,
    minifyWhitespace: true,
    plugins: [withoutDockerExtras],
    banner: {
      // CommonJS packages within ask for built-in modules by `require`.
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
  });
  const [bundle] = outputFiles;
  if (!bundle) throw new Error("esbuild made no file of the agent.");
  return Buffer.from(bundle.contents);
}
