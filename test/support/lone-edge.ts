/** The edge of a whole Edgerun, without an agent. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, layOutBundle } from "./edgerun.ts";
import { Launch } from "./launch.ts";

export type LoneEdge = AsyncDisposable & {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Process of the Workers runtime. */
  pid(): number;
};

export async function startLoneEdge(): Promise<LoneEdge> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-edge-"));
  await layOutBundle(stateDirectory);
  const port = await freePort();
  const launch = new Launch({ via: "script", port, stateDirectory, options: ["--no-agent", "--no-example"] });
  const stop = async (): Promise<void> => {
    await launch.stop();
    await rm(stateDirectory, { recursive: true, force: true });
  };
  try {
    await launch.settled();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    baseUrl: launch.record.url,
    apiKey: readFileSync(join(stateDirectory, "api-key"), "utf8").trim(),
    pid() {
      const { edgePid } = launch.record;
      if (edgePid === null) throw new Error("the edge is not running");
      return edgePid;
    },
    [Symbol.asyncDispose]: stop,
  };
}
