/** A fixture beside an Edgerun whose workers are containers. */
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ensureFlashImages } from "../../../scripts/images/flash-images.ts";
import { type BareEdgerun, startBareEdgerun } from "../../support/edgerun.ts";
import { inTurn } from "../../support/turn.ts";
import { CommandFixture, layOutBundle } from "./flash-command.ts";

const PACKAGE = join(import.meta.dirname, "../../../sdk/python/src");

export type ContainerFixture = AsyncDisposable & {
  readonly fixture: CommandFixture;
  readonly edgerun: BareEdgerun;
};

/** Starts Edgerun with the runtime images of flash; the commands of the fixture know where it is. */
export async function openContainerFixture(): Promise<ContainerFixture> {
  const [bundle, edgerun] = await Promise.all([
    layOutBundle(),
    startBareEdgerun({ runtime: "docker" }),
    inTurn("flash-images", () => ensureFlashImages(() => undefined)),
  ]);
  const fixture = await CommandFixture.open(bundle, {
    EDGERUN_URL: edgerun.baseUrl,
    SVC_API_KEY: edgerun.apiKey,
    PYTHONPATH: PACKAGE,
  });
  return {
    fixture,
    edgerun,
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await edgerun.stop();
      await rm(dirname(bundle), { recursive: true, force: true });
    },
  };
}
