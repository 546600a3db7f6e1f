/** The `flash` command. */
import { runFlash } from "./run.ts";

const exitCode = await runFlash(process.argv.slice(2));
// Open connections would keep the process for some seconds.
process.stdout.write("", () => process.exit(exitCode));
