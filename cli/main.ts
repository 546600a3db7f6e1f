/** The `flash` command. */
import module from "node:module";
import { compiledDirectory } from "./core/cache-directory.ts";

// Absent from Node 20; Node runs without a cache where it cannot write one.
module.enableCompileCache?.(compiledDirectory(process.env));
const { runFlash } = await import("./run.ts");
const exitCode = await runFlash(process.argv.slice(2));
// Open connections would keep the process alive for seconds.
process.stdout.write("", () => process.exit(exitCode));
