/** The `flash` command. */
import { runFlash } from "./run.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Whoever reads has read enough, such as `| head`.
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
const exitCode = await runFlash(process.argv.slice(2));
// Open connections would keep the process for some seconds.
process.stdout.write("", () => process.exit(exitCode));
