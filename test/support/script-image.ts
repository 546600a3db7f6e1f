/** Images of the test's scripts, made from what this clone has: no registry is needed. */
import { createHash } from "node:crypto";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import { finishImage, labelsOf, tarOf, withScratchFolder } from "../../scripts/images/image-import.ts";
import { ensureNodeImage } from "../../scripts/images/node-image.ts";

/** Makes sure that the image of worker-script.mjs as it stands is there, and returns its name. */
export function ensureScriptImage(docker = new Docker()): Promise<string> {
  return ensureImage(docker, "worker-script");
}

/** The same of server-script.mjs; its server runs as that user. */
export function ensureServerImage(user: "root" | "nobody", docker = new Docker()): Promise<string> {
  return ensureImage(docker, "server-script", user === "root" ? "" : "USER 65534:65534\n");
}

async function ensureImage(docker: Docker, name: string, settings = ""): Promise<string> {
  const script = fileURLToPath(new URL(`./${name}.mjs`, import.meta.url));
  const base = await ensureNodeImage({ docker });
  const command = `CMD ["node", "/app/worker.mjs"]\n`;
  const dockerfile = `FROM ${base.image}\nCOPY worker.mjs /app/worker.mjs\n${settings}${command}`;
  const hash = createHash("sha256")
    .update(dockerfile)
    .update(await readFile(script));
  const image = `edgerun-test/${name}:${hash.digest("hex").slice(0, 12)}`;
  if (await labelsOf(docker, image)) return image;
  await withScratchFolder(async (folder) => {
    await copyFile(script, join(folder, "worker.mjs"));
    await writeFile(join(folder, "Dockerfile"), dockerfile);
    await finishImage(docker, await docker.buildImage(tarOf(folder), { t: image, rm: true }));
  });
  return image;
}
