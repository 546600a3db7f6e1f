/**
 * Builds the images of the examples, and one that runs flash apps:
 *
 *   npm run images -- [NAME ...]     (default: all)
 */
import { dockerAnswers } from "../../standalone/docker-daemon.ts";
import { Failure } from "../../src/std/failure.ts";
import { ensureFlashImages } from "./flash-images.ts";
import { ensureHelloImage, ensureNodeServerImage } from "./node-image.ts";
import { ensurePythonImage } from "./python-image.ts";
import { ensureStaticFilesImage } from "./static-image.ts";
import { ensureWorkerImage } from "./worker-images.ts";

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const BUILDERS: ReadonlyMap<string, () => Promise<{ image: string }>> = new Map<
  string,
  () => Promise<{ image: string }>
>(
  Object.entries({
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
  }),
);

if (!(await dockerAnswers())) {
  const failure = new Failure("No Docker daemon answers, and images are built by one.", [
    "Start Docker (or set DOCKER_HOST), and run the command again.",
  ]);
  process.stderr.write(`${failure.text}\n`);
  process.exit(1);
}
const requested = process.argv.length > 2 ? process.argv.slice(2) : [...BUILDERS.keys()];
for (const name of requested) {
  const build = BUILDERS.get(name);
  if (build === undefined) {
    process.stderr.write(`There is no image "${name}". Choose from: ${[...BUILDERS.keys()].join(", ")}\n`);
    process.exit(1);
  }
  const startedAt = Date.now();
  const { image } = await build();
  say(`${image} is there (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
}
