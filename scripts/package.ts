/** `npm run package`: lays out in `dist/` what is published: the command alone, and as a package for npm. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { layOutCli } from "./cli-bundle.ts";
import { layOutNpmPackage } from "./npm-package.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

await layOutCli(ROOT, join(ROOT, "dist/cli"));
await layOutNpmPackage(ROOT, join(ROOT, "dist/npm"));
console.log("Laid out dist/cli and dist/npm.");
