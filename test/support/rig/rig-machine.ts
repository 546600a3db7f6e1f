/** Whether this machine lets us unplug hosts and fill disks. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Cries out when it does not; with REQUIRE_DOCKER=1, where a daemon can run, that is a failure. */
export async function canBreakHosts(): Promise<boolean> {
  const name = `edgerun-rig-try-${randomBytes(4).toString("hex")}`;
  try {
    await run("ip", ["netns", "add", name]);
    await run("ip", ["netns", "delete", name]);
    await run("losetup", ["--find"]);
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    if (process.env["REQUIRE_DOCKER"] === "1") {
      throw new Error(`REQUIRE_DOCKER=1, but there are no namespaces or loop devices: ${reason}`, {
        cause: error,
      });
    }
    process.stderr.write(`\n!!!!!! TESTS OF BROKEN HOSTS SKIPPED (${reason}) !!!!!!\n\n`);
    return false;
  }
}
