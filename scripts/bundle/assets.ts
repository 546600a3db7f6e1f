/**
 * Puts together the files that the edge serves, as they are to be found under its address:
 *
 *   console/           our own pages; console/app is built first, see console-bundle.ts
 *   swagger-ui-dist    the API explorer, under /docs/swagger-ui
 *   node-agent         the agent as one file, its hash and signature, and the script that installs it, under /agent
 */
import { createHash, randomUUID } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { SIGNATURE_SUFFIX } from "../../src/contract/agent/agent-signature.ts";
import { bundleAgent } from "./agent-bundle.ts";
import type { AgentSigner } from "./agent-signing.ts";
import { buildConsole } from "./console-bundle.ts";

/** Pages that are served as they are. */
const PAGES = ["console/docs", "console/flash"];
const EXPLORER = "node_modules/swagger-ui-dist";
const AGENT = "agent/edgerun-agent.mjs";
const AGENT_HASH = `${AGENT}.sha256`;
const AGENT_SIGNATURE = `${AGENT}${SIGNATURE_SUFFIX}`;
const EXPLORER_FILES = ["swagger-ui-bundle.js", "swagger-ui.css", "LICENSE", "NOTICE"];

/** The sources of the files, and the scripts that build them. */
const SOURCES = [
  "console/**/*",
  "node-agent/**/*",
  "src/contract/**/*",
  "scripts/*.ts",
  "scripts/bundle/*.ts",
  "package-lock.json",
];

/** The packages are built later; see packages.ts. */
const PACKAGES = "packages";
const OWN_FILES = ["*", `!(${PACKAGES}|${PACKAGES}.*)/**/*`];

/** The agent as one file, once the assets are there: it starts in a third of the time that its sources take. */
export function bundledAgent(root: string): string {
  return join(root, "dist/assets", AGENT);
}

/** Brings `dist/assets` up to date, with an agent that is signed where there is a signer. Several may do so at once: what is as it should be is not touched. */
export async function buildAssets(root: string, signer?: AgentSigner): Promise<void> {
  const target = join(root, "dist/assets");
  const key = signer?.publicKey ?? "unsigned";
  const state = () => `${key} ${digestOf(root, SOURCES)} ${digestOf(target, OWN_FILES)}\n`;
  // Beside the directory, since everything in it is served. The agent takes half a second to bundle.
  const stampPath = `${target}.built`;
  if ((await readFile(stampPath, "utf8").catch(() => "")) === state()) return;
  await layOutAssets(root, target, signer);
  await writeIfChanged(Buffer.from(state()), stampPath);
}

/** Differs whenever a file that the patterns name does. Each start reads some thousand files: all at once, not in turns. */
export function digestOf(directory: string, patterns: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of filesUnder(directory, patterns)) {
    const content = readFileSync(join(directory, path));
    hash.update(`${path} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

async function layOutAssets(root: string, target: string, signer?: AgentSigner): Promise<void> {
  const sources = assetSources(root);
  for (const [path, source] of sources) {
    await writeIfChanged(await readFile(join(root, source)), join(target, path));
  }
  const agent = await bundleAgent(root, signer?.publicKey);
  const hash = createHash("sha256").update(agent).digest("hex");
  const made = new Map([
    ...(await buildConsole(root)),
    [AGENT, agent],
    [AGENT_HASH, Buffer.from(`${hash}\n`)],
  ]);
  if (signer) made.set(AGENT_SIGNATURE, Buffer.from(signer.signatureOf(agent)));
  for (const [path, content] of made) await writeIfChanged(content, join(target, path));
  const files = new Set([...sources.keys(), ...made.keys()]);
  const stale = filesUnder(target, OWN_FILES).filter((path) => !files.has(path) && !path.endsWith(".part"));
  for (const path of stale) await rm(join(target, path), { force: true });
}

/** Path of each file below the address of the edge, and where it comes from. */
function assetSources(root: string): ReadonlyMap<string, string> {
  return new Map([
    ...PAGES.flatMap((folder) => filesUnder(join(root, folder)).map((path) => join(folder, path))).map(
      (path): [string, string] => [relative("console", path), path],
    ),
    ["agent/install.sh", "node-agent/install/install.sh"],
    ...EXPLORER_FILES.map((name): [string, string] => [`docs/swagger-ui/${name}`, join(EXPLORER, name)]),
  ]);
}

function filesUnder(directory: string, patterns: readonly string[] = ["**/*"]): readonly string[] {
  const entries = globSync(patterns, { cwd: directory, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .toSorted();
}

async function writeIfChanged(bytes: Buffer, target: string): Promise<void> {
  const present = await readFile(target).catch(() => undefined);
  if (present?.equals(bytes)) return;
  await mkdir(dirname(target), { recursive: true });
  const draft = `${target}.${randomUUID()}.part`;
  await writeFile(draft, bytes);
  await rename(draft, target); // a reader sees the old file or the new one
}
