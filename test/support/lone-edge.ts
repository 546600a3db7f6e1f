/** The edge of a whole Edgerun, without an agent. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { layOutBundle } from "./edgerun.ts";
import { freePort } from "./free-port.ts";
import { Launch } from "./launch.ts";

/** Where an edge is, and a key of one of its accounts. */
export type EdgeAccess = { readonly baseUrl: string; readonly apiKey: string };

export type LoneEdge = AsyncDisposable &
  EdgeAccess & {
    /** Where the inspector of the Workers runtime listens, on 127.0.0.1. */
    readonly inspectorPort: number;
    /** Process of the Workers runtime. */
    pid(): number;
  };

type LoneEdgeSettings = {
  /** The built edge; by default that of this test run. */
  readonly bundle?: string;
  /** More options of `npm start`. */
  readonly options?: readonly string[];
};

export async function startLoneEdge({ bundle, options = [] }: LoneEdgeSettings = {}): Promise<LoneEdge> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-edge-"));
  await layOutBundle(stateDirectory, bundle);
  const port = await freePort();
  const inspectorPort = await freePort();
  const own = ["--no-agent", "--no-example", "--inspect", String(inspectorPort)];
  const launch = new Launch({ via: "script", port, stateDirectory, options: [...own, ...options] });
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
    inspectorPort,
    pid() {
      const { edgePid } = launch.record;
      if (edgePid === null) throw new Error("the edge is not running");
      return edgePid;
    },
    [Symbol.asyncDispose]: stop,
  };
}
