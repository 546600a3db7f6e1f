/** `npm start`: see the README, or run `npm start -- --help`. */
import { Socket } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { Failure } from "../src/std/failure.ts";
import { LocalEdgerun } from "./start/local-edgerun.ts";
import { parseOptions } from "./start/options.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Calls back when the process that started this one has ended: bootstrap.mjs holds the other end of this pipe. */
function watchLifeline(onGone: () => void): void {
  const fd = Number(process.env["EDGERUN_LIFELINE"]);
  delete process.env["EDGERUN_LIFELINE"];
  if (!fd) return;
  const lifeline = new Socket({ fd, readable: true, writable: false });
  lifeline.on("error", onGone).on("close", onGone).resume().unref();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  const edgerun = new LocalEdgerun(ROOT, options, say);
  const { promise: stopRequested, resolve } = Promise.withResolvers<void>();
  const ask = (): void => {
    resolve();
    void edgerun.stop();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, ask);
  watchLifeline(ask);
  try {
    const isWell = await edgerun.start();
    if (!options.isOnce) {
      say("Ctrl+C stops everything; the data stays.");
      await stopRequested;
      say(`Stopping. Data and logs stay in ${options.stateDirectory}; npm start goes on with them.`);
    }
    return isWell || !options.isOnce ? 0 : 1;
  } catch (error) {
    if (!edgerun.isStopping) throw error;
    return options.isOnce ? 1 : 0; // it failed because it was being stopped
  } finally {
    await edgerun.stop();
  }
}

process.stdout.on("error", () => {}); // the reader has gone; the lifeline shows why
try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof Failure) console.error(error.text);
  else console.error(error);
  process.exitCode = 1;
}
process.exit();
