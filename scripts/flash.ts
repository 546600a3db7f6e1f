/** `npm run flash -- …`: the `flash` command of this repository, bundled as it is shipped. */
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { layOutCli } from "./bundle/cli-bundle.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DIRECTORY = join(ROOT, "dist/cli");

await layOutCli(ROOT, DIRECTORY);
// npm changes into the directory of its package.
process.chdir(process.env["INIT_CWD"] ?? ROOT);
await import(pathToFileURL(join(DIRECTORY, "flash.mjs")).href);
