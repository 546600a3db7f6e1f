/** One image of this clone in place of the four runtime images of flash apps, for machines that reach no registry. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { ensurePythonImage } from "./python-image.ts";

const NAMES = ["flash", "flash-cpu", "flash-lb", "flash-lb-cpu"];
const TAG = "py3.11-latest";
const DOCKERFILE = fileURLToPath(new URL("../../docker/flash/Dockerfile", import.meta.url));
const CONTEXT = fileURLToPath(new URL("../../sdk/python", import.meta.url));

/** Builds it; quick when nothing changed, for Docker keeps the layers. */
export async function ensureFlashImages(
  say: (line: string) => void,
): Promise<{ image: string; images: readonly string[] }> {
  await ensurePythonImage(say);
  const images = NAMES.map((name) => `edgerun/${name}:${TAG}`);
  say(
    `building one image for Python 3.11 as ${images.join(", ")}: with numpy, WITHOUT torch, torchvision, torchaudio ` +
      "and triton, though apps are built as if it had them. The whole images are made of docker/flash/Dockerfile.",
  );
  const tags = images.flatMap((image) => ["--tag", image]);
  const what = ["--file", DOCKERFILE, "--target", "local", "--build-arg", "PYTHON_VERSION=3.11"];
  await execa("docker", ["build", "--network", "host", ...what, ...tags, CONTEXT], { all: true });
  return { image: images.join(", "), images };
}
