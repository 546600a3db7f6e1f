/**
 * `npm run deploy`: migrates the database on Cloudflare, uploads the Worker script, and makes the key for
 * secrets if there is none.
 */
import { spawnSync, type SpawnSyncOptions } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { unstable_readConfig } from "wrangler";
import * as z from "zod";
import { generateEncryptionKey } from "../standalone/encryption-key.ts";
import { buildAssets } from "./assets.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CONFIG = join(ROOT, "wrangler.toml");
const BUNDLE = join(ROOT, "dist/edge");
const PRODUCTION = "production";
const ENCRYPTION_KEYS = "ENCRYPTION_KEYS";
const KEY_COPY = join(ROOT, ".edgerun/deployed-encryption-keys");
const UNSET_DATABASE = "00000000-0000-0000-0000-000000000000";

const BEFORE_THE_FIRST_DEPLOYMENT = `
wrangler.toml names no database of yours yet. Once, before the first deployment:

  npx wrangler login
  npx wrangler d1 create edgerun                   then put its id into wrangler.toml as database_id
  npx wrangler r2 bucket create edgerun-payloads
  npx wrangler r2 bucket create edgerun-logs
  npx wrangler secret put ROOT_API_KEY             the key with which you will call your Edgerun
`;

/** The arguments that select the production environment, where wrangler.toml has one. */
function environmentArguments(): readonly string[] {
  const { definedEnvironments = [] } = unstable_readConfig({ config: CONFIG });
  return definedEnvironments.includes(PRODUCTION) ? ["--env", PRODUCTION] : [];
}

function databaseIsSet(environment: readonly string[]): boolean {
  const env = environment.length > 0 ? { env: PRODUCTION } : {};
  const databases: readonly { database_id?: string }[] = unstable_readConfig({
    config: CONFIG,
    ...env,
  }).d1_databases;
  return databases.every(({ database_id: id }) => id !== undefined && id !== UNSET_DATABASE);
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
  mkdirSync(dirname(KEY_COPY), { recursive: true });
  writeFileSync(KEY_COPY, input, { flag: "a", mode: 0o600 }); // an earlier copy may be the only one
  const put = ["secret", "put", ENCRYPTION_KEYS, ...environment];
  if (runWrangler(put, { input, stdio: ["pipe", "inherit", "inherit"] }).status !== 0) stopAfter(put);
  console.log(
    `${ENCRYPTION_KEYS} was set. Its only copy is the last line of ${KEY_COPY}: keep it in a safe place.`,
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

const { dryRun } = new Command("npm run deploy --")
  .description("Applies the database migrations on Cloudflare and deploys the edge.")
  .option("--dry-run", "build only, offline; shows what would be uploaded", false)
  .allowExcessArguments(false)
  .parse()
  .opts<{ dryRun: boolean }>();
const environment = environmentArguments();

if (dryRun) {
  await buildAssets(ROOT);
  wrangler("deploy", "--dry-run", "--outdir", BUNDLE, ...environment);
} else if (!databaseIsSet(environment)) {
  console.error(BEFORE_THE_FIRST_DEPLOYMENT);
  process.exit(1);
} else {
  await buildAssets(ROOT);
  wrangler("d1", "migrations", "apply", "DB", "--remote", ...environment);
  wrangler("deploy", ...environment);
  ensureEncryptionKey(environment);
}
