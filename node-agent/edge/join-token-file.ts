/** Where the installation leaves a join token for the agent, so that it stands in no command line. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";

export async function readJoinTokenFile(stateDir: string): Promise<string | undefined> {
  try {
    return (await readFile(pathOf(stateDir), "utf8")).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** To be called when the host is known to the edge: a token is for one join. */
export async function removeJoinTokenFile(stateDir: string): Promise<void> {
  await rm(pathOf(stateDir), { force: true });
}

function pathOf(stateDir: string): string {
  return join(stateDir, "join-token");
}
