import { ensureWorkerImage as buildWorkerImage } from "../../scripts/images/worker-images.ts";
import { inTurn } from "./turn.ts";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Makes sure that the image of an example is there; answers its name. */
export function ensureWorkerImage(example: Parameters<typeof buildWorkerImage>[0]): Promise<string> {
  return inTurn("images", async () => (await buildWorkerImage(example, say)).image);
}
