/**
 * `npm run deploy`: migrates the database on Cloudflare, uploads the Worker script with the files that wrangler has
 * built before ([build] of wrangler.toml), and makes the key for secrets if there is none.
 */
import { spawnSync, type SpawnSyncOptions } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { unstable_readConfig } from "wrangler";
import * as z from "zod";
import { problemOfRootKey, ROOT_API_KEY_MIN_CHARACTERS } from "../src/contract/root-key.ts";
import { generateEncryptionKey } from "../standalone/state-directory.ts";
import { AgentSigner, signingKeyPath } from "./bundle/agent-signing.ts";
import { type BoundResources, creatingCommands } from "./deploy-setup.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CONFIG = join(ROOT, "wrangler.toml");
const BUNDLE = join(ROOT, "dist/edge");
const PRODUCTION = "production";
const ENCRYPTION_KEYS = "ENCRYPTION_KEYS";
const SIGNING_KEY = signingKeyPath(ROOT);
const KEY_COPY = join(ROOT, ".edgerun/deployed-encryption-keys");
const UNSET_DATABASE = "00000000-0000-0000-0000-000000000000";

/** Checks a variable before it is deployed. A secret cannot be read here; the edge rejects one that is too short. */
function refuseShortRootKey(environment: readonly string[]): void {
  const env = environment.length > 0 ? { env: PRODUCTION } : {};
  const { ROOT_API_KEY: key } = unstable_readConfig({ config: CONFIG, ...env }).vars;
  const problem = problemOfRootKey(typeof key === "string" ? key : undefined);
  if (problem === undefined) return;
  console.error(problem);
  process.exit(1);
}

/** The arguments that select the production environment, where wrangler.toml has one. */
function environmentArguments(): readonly string[] {
  const { definedEnvironments = [] } = unstable_readConfig({ config: CONFIG });
  return definedEnvironments.includes(PRODUCTION) ? ["--env", PRODUCTION] : [];
}

function readConfig(environment: readonly string[]): BoundResources & { readonly d1_databases: Databases } {
  return unstable_readConfig({ config: CONFIG, ...(environment.length > 0 && { env: PRODUCTION }) });
}

type Databases = readonly { readonly database_id?: string; readonly database_name?: string }[];

function databaseIsSet(databases: Databases): boolean {
  return databases.every(({ database_id: id }) => id !== undefined && id !== UNSET_DATABASE);
}

function sayWhatIsMissing(config: BoundResources): void {
  console.error(
    [
      "",
      "wrangler.toml names no database of yours yet. Once, before the first deployment:",
      "",
      "  npx wrangler login",
      ...creatingCommands(config).map((command) => `  ${command}`),
      "  npx wrangler secret put ROOT_API_KEY     the key with which you will call your Edgerun, of at least",
      `                                           ${ROOT_API_KEY_MIN_CHARACTERS} characters: openssl rand -hex 32`,
      "",
      "Put the id that `d1 create` prints into wrangler.toml, as database_id, and run this command again.",
      "",
    ].join("\n"),
  );
}

function runWrangler(args: readonly string[], options: SpawnSyncOptions) {
  const script = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false" };
  return spawnSync(process.execPath, [script, ...args], { cwd: ROOT, env, ...options });
}

function wrangler(...args: readonly string[]): void {
  if (runWrangler(args, { stdio: "inherit" }).status !== 0) stopAfter(args);
}

function stopAfter(args: readonly string[]): never {
  console.error(`\nStopped: wrangler ${args.slice(0, 3).join(" ")} failed; it says why above.`);
  process.exit(1);
}

/**
 * Once set, a key is never replaced from here: what it seals would be lost. A new one goes to wrangler through a
 * pipe and is never shown. Cloudflare gives no secret back, so a copy comes first, into a file for its owner only.
 */
function ensureEncryptionKey(environment: readonly string[]): void {
  const list = ["secret", "list", "--format", "json", ...environment];
  const { status, stdout } = runWrangler(list, { stdio: ["ignore", "pipe", "inherit"] });
  const names = status === 0 ? readSecretNames(String(stdout)) : undefined;
  if (names === undefined) stopAfter(list);
  if (names.includes(ENCRYPTION_KEYS)) return;

  const input = `${generateEncryptionKey()}\n`;
  mkdirSync(dirname(KEY_COPY), { recursive: true, mode: 0o700 });
  writeFileSync(KEY_COPY, input, { flag: "a", mode: 0o600 }); // an earlier copy may be the only one
  const put = ["secret", "put", ENCRYPTION_KEYS, ...environment];
  if (runWrangler(put, { input, stdio: ["pipe", "inherit", "inherit"] }).status !== 0) stopAfter(put);
  console.log(
    `${ENCRYPTION_KEYS} was set. Its only copy is the last line of ${KEY_COPY}: keep it in a safe place.`,
  );
}

/**
 * The key with which the build that wrangler starts signs the agent. Hosts take the next agent only from who has the
 * key of the one that they run.
 */
async function ensureAgentSigner(makesNew: boolean): Promise<void> {
  const before = AgentSigner.read(SIGNING_KEY);
  if (before && !makesNew) return;
  const signer = await AgentSigner.make(SIGNING_KEY, before);
  console.log(
    `A new key signs the agent. Its only copy is ${SIGNING_KEY}: keep it in a safe place, and deploy with it.\n` +
      `Its public part, for edgerun-agent upgrade --accept-key: ${signer.publicKey}`,
  );
}

function readSecretNames(json: string): readonly string[] | undefined {
  try {
    return z
      .array(z.object({ name: z.string() }))
      .parse(JSON.parse(json))
      .map(({ name }) => name);
  } catch {
    return undefined;
  }
}

/** Firewall and Access rules of your own domain do not apply on workers.dev. */
function warnOfSecondEntrance(environment: readonly string[]): void {
  const env = environment.length > 0 ? { env: PRODUCTION } : {};
  const { route, routes = [], workers_dev: hasWorkersDev } = unstable_readConfig({ config: CONFIG, ...env });
  if (hasWorkersDev === false || (route === undefined && routes.length === 0)) return;
  console.warn(
    "\nThe edge is also reachable at its workers.dev URL, which bypasses the rules of your own domain. " +
      "To prevent that, set workers_dev = false in wrangler.toml.",
  );
}

const { dryRun, newAgentKey } = new Command("npm run deploy --")
  .description("Applies the database migrations on Cloudflare and deploys the edge.")
  .option("--dry-run", "build only, offline; shows what would be uploaded", false)
  .option("--new-agent-key", "sign agents with a new key, which the old one signs", false)
  .allowExcessArguments(false)
  .parse()
  .opts<{ dryRun: boolean; newAgentKey: boolean }>();
const environment = environmentArguments();
const config = readConfig(environment);

refuseShortRootKey(environment);
if (dryRun) {
  wrangler("deploy", "--dry-run", "--outdir", BUNDLE, ...environment);
} else if (!databaseIsSet(config.d1_databases)) {
  sayWhatIsMissing(config);
  process.exit(1);
} else {
  await ensureAgentSigner(newAgentKey);
  wrangler("d1", "migrations", "apply", "DB", "--remote", ...environment);
  wrangler("deploy", ...environment);
  ensureEncryptionKey(environment);
  warnOfSecondEntrance(environment);
}
