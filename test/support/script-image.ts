/** An image of worker-script.mjs, made from what this clone has: no registry is needed. */
import { createHash } from "node:crypto";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import { finishImage, labelsOf, tarOf, withScratchFolder } from "../../scripts/images/image-import.ts";
import { ensureNodeImage } from "../../scripts/images/node-image.ts";

const SCRIPT = fileURLToPath(new URL("./worker-script.mjs", import.meta.url));
const REPOSITORY = "edgerun-test/worker-script";

/** Makes sure that the image of the script as it stands is there, and returns its name. */
export async function ensureScriptImage(docker = new Docker()): Promise<string> {
  const base = await ensureNodeImage({ docker });
  const hash = createHash("sha256").update(await readFile(SCRIPT));
  const image = `${REPOSITORY}:${hash.digest("hex").slice(0, 12)}`;
  if (await labelsOf(docker, image)) return image;
  const dockerfile = `FROM ${base.image}\nCOPY worker.mjs /app/worker.mjs\nCMD ["node", "/app/worker.mjs"]\n`;
  await withScratchFolder(async (folder) => {
    await copyFile(SCRIPT, join(folder, "worker.mjs"));
    await writeFile(join(folder, "Dockerfile"), dockerfile);
    await finishImage(docker, await docker.buildImage(tarOf(folder), { t: image, rm: true }));
  });
  return image;
}
