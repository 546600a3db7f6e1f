/**
 * The entry point of every command of this repository: `npm start`, `npm test`, `npm run check`, …
 *
 * Runs on whatever Node (20.19 or newer) the computer has and needs nothing installed. It installs what
 * is missing, then runs the real command with the Node that the repository pins.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BIN = join(ROOT, "node_modules", ".bin");
const COMPILED = join(ROOT, "node_modules", ".cache", "compiled");
const NODE_MIN = [20, 19];
const PARENT_CHECK_MS = 500;

/** What each command runs with the pinned Node; all further arguments are passed on. */
const COMMANDS = {
  start: ["scripts/start.ts"],
  test: ["node_modules/vitest/vitest.mjs", "run"],
  check: ["scripts/check.ts"],
  build: ["scripts/build.ts"],
  deploy: ["scripts/deploy.ts"],
  bench: ["bench/main.ts"],
  images: ["scripts/images/main.ts"],
  flash: ["scripts/flash.ts"],
  edgerun: ["scripts/flash.ts"],
  package: ["scripts/package.ts"],
  structure: ["scripts/structure.ts"],
  mutants: ["scripts/mutants.ts"],
  simulate: ["test/simulation/main.ts"],
  format: ["node_modules/oxfmt/bin/oxfmt"],
};

function fail(message) {
  console.error(message);
  process.exit(1);
}

// Node and dependencies

function refuseOldNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return;
  fail(
    `Edgerun needs Node ${NODE_MIN.join(".")} or newer; this is ${process.versions.node}.\n` +
      "Install a current Node from https://nodejs.org and run the command again.",
  );
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
}

/** Compares what npm says it installed with the lockfile; file times are wrong after a git checkout. */
function isInstalled() {
  const locked = readPackages(join(ROOT, "package-lock.json"));
  const present = readPackages(join(ROOT, "node_modules", ".package-lock.json"));
  if (!locked) fail("package-lock.json is missing or damaged. Restore it: git checkout package-lock.json");
  if (!present || !existsSync(join(BIN, "node"))) return false;
  const isSame = (path) =>
    present[path]?.version === locked[path].version && present[path]?.integrity === locked[path].integrity;
  return Object.keys(locked).every((path) => path === "" || locked[path].optional || isSame(path));
}

function runNpm(...args) {
  const npm = process.env.npm_execpath;
  const options = { cwd: ROOT, stdio: "inherit" };
  const result = npm ? spawnSync(process.execPath, [npm, ...args], options) : spawnSync("npm", args, options);
  return result.status === 0;
}

/** Packages whose install scripts may run. */
function allowedScripts() {
  const { allowScripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return Object.keys(allowScripts).filter((name) => allowScripts[name]);
}

function install() {
  console.log("Installing dependencies from package-lock.json (once; about a minute) ...");
  const begun = Date.now();
  // No install script runs except those that allowScripts names; older versions of npm do not know that setting.
  const isLaidOut = runNpm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error");
  if (!isLaidOut || !runNpm("rebuild", "--ignore-scripts=false", "--loglevel=error", ...allowedScripts())) {
    fail(
      "The dependencies could not be installed; npm says why above.\n" +
        "Often it is the network: try again, or check the registry with `npm config get registry`.",
    );
  }
  if (!existsSync(join(BIN, "node"))) {
    fail(
      "npm did not install the pinned Node, although its install script was run.\n" + "Run: npm rebuild node",
    );
  }
  console.log(`Installed in ${Math.round((Date.now() - begun) / 1000)} s.`);
}

// Parents

/**
 * Calls back when npm has gone: a killed npm reports nothing. The scripts in package.json say `exec`, so that
 * no shell stays between npm and us, which would also swallow the signals that npm passes on.
 */
function watchNpm(onGone) {
  if (!process.env.npm_lifecycle_event) return;
  const npm = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    onGone();
  }, PARENT_CHECK_MS);
  timer.unref();
}

// The command

function run(command, args) {
  const isService = command === "start";
  const child = spawn(join(BIN, "node"), [...COMMANDS[command], ...args], {
    cwd: ROOT,
    env: {
      ...process.env,
      PATH: BIN + delimiter + process.env.PATH,
      EDGERUN_LIFELINE: isService ? "3" : "",
      // Node reuses what it has compiled once: edge and agent start in half the time.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? COMPILED,
    },
    // A service gets its own process group, so that Ctrl+C reaches it once and by us alone, and a pipe
    // (the lifeline) that closes when this process ends in whatever way.
    detached: isService,
    stdio: ["inherit", "inherit", "inherit", isService ? "pipe" : "ignore"],
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  watchNpm(() => child.kill("SIGTERM"));
  child.on("error", (error) => fail(`Cannot run ${join(BIN, "node")}: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

const [command, ...args] = process.argv.slice(2);
if (!command || !Object.hasOwn(COMMANDS, command)) {
  fail(`Usage: node scripts/bootstrap.mjs <${Object.keys(COMMANDS).join("|")}> [options]`);
}
refuseOldNode();
if (!isInstalled()) install();
run(command, args);
