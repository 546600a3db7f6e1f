/** `npm run package`: lays out in `dist/` what is published: the command alone, as a package for npm, and for pip. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { layOutCli } from "./cli-bundle.ts";
import { layOutNpmPackage } from "./npm-package.ts";
import { buildPythonWheel } from "./python-wheel.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

await layOutCli(ROOT, join(ROOT, "dist/cli"));
await layOutNpmPackage(ROOT, join(ROOT, "dist/npm"));
await buildPythonWheel(ROOT, join(ROOT, "dist/python"));
console.log("Laid out dist/cli, dist/npm and dist/python.");
