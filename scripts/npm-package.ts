/** The `flash` command as a package for npm. */
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FLASH_VERSION } from "../cli/version.ts";
import { layOutCli } from "./cli-bundle.ts";

const README = `# flash

Turns Python functions into serverless endpoints on your own GPU hosts, with Edgerun.

    npm install -g edgerun
    flash init my-app
    cd my-app
    flash dev --local                              # on this computer, without an account
    flash login --url https://your-edge.example
    flash dev                                      # on your hosts, while you write
    flash deploy

\`flash --help\` shows every command, \`flash <command> --help\` its options. Functions are declared with the Python package of the same name: \`pip install edgerun\`.
`;

/** Lays out a directory that `npm pack` and `npm publish` take. */
export async function layOutNpmPackage(root: string, directory: string): Promise<void> {
  await layOutCli(root, directory);
  const { license, description, engines } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const manifest = {
    name: "edgerun",
    version: FLASH_VERSION,
    description,
    license,
    type: "module",
    engines,
    bin: { flash: "flash.mjs" },
    files: ["flash*.mjs", "explorer", "python", "standalone"],
  };
  await writeFile(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeFile(join(directory, "README.md"), README);
  await cp(join(root, "LICENSE"), join(directory, "LICENSE"));
}
