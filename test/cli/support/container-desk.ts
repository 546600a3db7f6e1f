/** A desk beside an Edgerun whose workers are containers. */
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ensureFlashImages } from "../../../scripts/images/flash-images.ts";
import { type BareEdgerun, startBareEdgerun } from "../../support/edgerun.ts";
import { inTurn } from "../../support/turn.ts";
import { Desk, layOutBundle } from "./flash-command.ts";

const PACKAGE = join(import.meta.dirname, "../../../sdk/python/src");

export type ContainerDesk = AsyncDisposable & { readonly desk: Desk; readonly edgerun: BareEdgerun };

/** Starts Edgerun with the runtime images of flash; the commands of the desk know where it is. */
export async function openContainerDesk(): Promise<ContainerDesk> {
  const [bundle, edgerun] = await Promise.all([
    layOutBundle(),
    startBareEdgerun({ runtime: "docker" }),
    inTurn("flash-images", () => ensureFlashImages(() => undefined)),
  ]);
  const desk = await Desk.open(bundle, {
    EDGERUN_URL: edgerun.baseUrl,
    SVC_API_KEY: edgerun.apiKey,
    PYTHONPATH: PACKAGE,
  });
  return {
    desk,
    edgerun,
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      await edgerun.stop();
      await rm(dirname(bundle), { recursive: true, force: true });
    },
  };
}
