/** An image of worker-script.mjs, made from what this clone has: no registry is needed. */
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import { ensureNodeApp } from "../../scripts/images/node-image.ts";

const SCRIPT = fileURLToPath(new URL("./worker-script.mjs", import.meta.url));

/** Makes sure that the image of the script as it stands is there, and returns its name. */
export async function ensureScriptImage(docker = new Docker()): Promise<string> {
  return (await ensureNodeApp("edgerun-test/worker-script", SCRIPT, { docker })).image;
}
