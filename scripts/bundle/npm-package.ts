/** The `flash` command as a package for npm. */
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "tar";
import { EDGERUN_VERSION } from "../../src/contract/version.ts";

export const TARBALL_FILE = "edgerun.tgz";

const README = `# flash

Turns Python functions into serverless endpoints on your own GPU hosts, with Edgerun. Every Edgerun serves the version that fits it; the package is in no public registry:

    npm install -g https://your-edge.example/packages/${TARBALL_FILE}
    flash init my-app
    cd my-app
    flash dev --local                              # on this computer, without an account
    flash login --url https://your-edge.example
    flash dev                                      # on your hosts, while you write
    flash deploy

\`flash --help\` shows every command, \`flash <command> --help\` its options. Functions are declared with the Python package of the same name: \`pip install -r https://your-edge.example/packages/requirements.txt\`.
`;

/** Makes a package of a directory in which the command was laid out: one that \`npm pack\` takes. */
export async function layOutNpmPackage(root: string, cli: string, directory: string): Promise<void> {
  await cp(cli, directory, { recursive: true });
  const { license, description, engines } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const manifest = {
    name: "edgerun",
    version: EDGERUN_VERSION,
    description,
    license,
    type: "module",
    engines,
    bin: { flash: "flash.mjs", edgerun: "edgerun.mjs" },
    files: ["flash*.mjs", "edgerun.mjs", "explorer", "python", "standalone"],
  };
  await writeFile(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeFile(join(directory, "README.md"), README);
  await cp(join(root, "LICENSE"), join(directory, "LICENSE"));
}

/** Packs what {@link layOutNpmPackage} has laid out; the same files give the same bytes. */
export async function packNpmPackage(directory: string, target: string): Promise<void> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .toSorted();
  const options = { cwd: directory, prefix: "package", gzip: true, portable: true, mtime: new Date(0) };
  await create({ ...options, file: target }, paths);
}
