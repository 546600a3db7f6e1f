/** The `flash` command. */
import module from "node:module";
import { compiledDirectory } from "./core/cache-directory.ts";

// Node 20 cannot; where nothing can be written, Node goes on without.
module.enableCompileCache?.(compiledDirectory(process.env));
const { runFlash } = await import("./run.ts");
const exitCode = await runFlash(process.argv.slice(2));
// Open connections would keep the process for some seconds.
process.stdout.write("", () => process.exit(exitCode));
