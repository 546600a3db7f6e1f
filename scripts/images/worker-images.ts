/** Images of the Python examples: what `docker build` makes of their folders. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { ensurePythonImage } from "./python-image.ts";

const WORKER_IMAGES = {
  "mock-worker": "edgerun/mock-worker:example",
  embeddings: "edgerun/embeddings:example",
  fastapi: "edgerun/fastapi:example",
  flask: "edgerun/flask:example",
  openai: "edgerun/openai:example",
} as const;

type WorkerExample = keyof typeof WORKER_IMAGES;

/** Builds the image of one example; fast when nothing changed, since Docker caches the layers. */
export async function ensureWorkerImage(
  example: WorkerExample,
  say: (line: string) => void,
): Promise<{ image: string }> {
  await ensurePythonImage(say);
  const image = WORKER_IMAGES[example];
  const folder = fileURLToPath(new URL(`../../examples/${example}`, import.meta.url));
  say(`building ${image}`);
  await execa("docker", ["build", "--network", "host", "--tag", image, folder], { all: true });
  return { image };
}
