/** What wrangler runs before it builds the Worker script (`[build]` of wrangler.toml): the files that the edge serves. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentSigner, signingKeyPath } from "./bundle/agent-signing.ts";
import { buildAssets } from "./bundle/assets.ts";
import { buildPackages } from "./bundle/packages.ts";
import { ASSETS_ARE_BUILT } from "./bundle/edge-bundle.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

// The packages hold an edge, which is built by wrangler, too.
if (process.env[ASSETS_ARE_BUILT] === undefined) {
  await buildAssets(ROOT, AgentSigner.read(signingKeyPath(ROOT)));
  await buildPackages(ROOT);
}
