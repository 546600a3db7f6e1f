/** Whether this machine lets us unplug hosts and fill disks. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Cries out when it does not; with REQUIRE_DOCKER=1, where a daemon can run, that is a failure. */
export async function canBreakHosts(): Promise<boolean> {
  const reason = await whyHostsCannotBreak();
  if (reason === null) return true;
  if (process.env["REQUIRE_DOCKER"] === "1")
    throw new Error(`REQUIRE_DOCKER=1, but there are no namespaces or loop devices: ${reason}`);
  process.stderr.write(`\n!!!!!! TESTS OF BROKEN HOSTS SKIPPED (${reason}) !!!!!!\n\n`);
  return false;
}

/** Why hosts cannot be unplugged nor disks filled here; null when they can. */
export async function whyHostsCannotBreak(): Promise<string | null> {
  return obstacleTo(async () => void (await run("losetup", ["--find"])));
}

/** Why packets cannot get lost between hosts here; null when they can. */
export async function whyPacketsCannotGetLost(): Promise<string | null> {
  return obstacleTo(async (namespace) => {
    await run("nsenter", [`--net=/run/netns/${namespace}`, "--", "nft", "table netdev loss"]);
  });
}

/** What keeps us from something in a network namespace. */
async function obstacleTo(act: (namespace: string) => Promise<void>): Promise<string | null> {
  const name = `edgerun-rig-try-${randomBytes(4).toString("hex")}`;
  try {
    await run("ip", ["netns", "add", name]);
    await act(name);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  } finally {
    await run("ip", ["netns", "delete", name]).catch(() => {}); // it was not made
  }
}
