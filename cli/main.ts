/** The command `flash`, which has a second name: `edgerun`. */
import module from "node:module";
import { parse } from "node:path";
import { compiledDirectory } from "./core/cache-directory.ts";

// Absent from Node 20; Node runs without a cache where it cannot write one.
module.enableCompileCache?.(compiledDirectory(process.env));
const { runFlash } = await import("./run.ts");
const [, path = "", ...args] = process.argv;
const exitCode = await runFlash(parse(path).name === "edgerun" ? "edgerun" : "flash", args);
// Open connections would keep the process alive for seconds.
process.stdout.write("", () => process.exit(exitCode));
