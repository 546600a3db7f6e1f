/**
 * Builds the images of the examples, and one that runs flash apps:
 *
 *   npm run images -- [NAME ...]     (default: all)
 */
import { ensureFlashImages } from "./flash-images.ts";
import { ensureHelloImage, ensureNodeServerImage } from "./node-image.ts";
import { ensurePythonImage } from "./python-image.ts";
import { ensureStaticFilesImage } from "./static-image.ts";
import { ensureWorkerImage } from "./worker-images.ts";

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const BUILDERS: Record<string, () => Promise<{ image: string }>> = {
  hello: () => ensureHelloImage({ say }),
  flash: () => ensureFlashImages(say),
  python: () => ensurePythonImage(say),
  "mock-worker": () => ensureWorkerImage("mock-worker", say),
  embeddings: () => ensureWorkerImage("embeddings", say),
  "node-server": () => ensureNodeServerImage({ say }),
  "static-files": () => ensureStaticFilesImage(say),
  fastapi: () => ensureWorkerImage("fastapi", say),
  flask: () => ensureWorkerImage("flask", say),
  openai: () => ensureWorkerImage("openai", say),
};

const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(BUILDERS);
for (const name of wanted) {
  const build = BUILDERS[name];
  if (build === undefined) {
    process.stderr.write(`There is no image "${name}". Choose from: ${Object.keys(BUILDERS).join(", ")}\n`);
    process.exit(1);
  }
  const startedAt = Date.now();
  const { image } = await build();
  say(`${image} is there (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
}
