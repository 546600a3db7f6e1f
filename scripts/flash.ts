/** `npm run flash -- …` and `npm run edgerun -- …`: the command of this repository, bundled as it is shipped. */
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { layOutCli } from "./bundle/cli-bundle.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DIRECTORY = join(ROOT, "dist/cli");

await layOutCli(ROOT, DIRECTORY);
// npm changes into the directory of its package.
process.chdir(process.env["INIT_CWD"] ?? ROOT);
const NAME = process.env["npm_lifecycle_event"] === "edgerun" ? "edgerun" : "flash";
const program = join(DIRECTORY, `${NAME}.mjs`);
process.argv[1] = program;
await import(pathToFileURL(program).href);
