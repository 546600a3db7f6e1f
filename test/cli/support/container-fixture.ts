/** A fixture beside an edge whose workers are containers. */
import { join } from "node:path";
import { inject } from "vitest";
import { ensureFlashImages } from "../../../scripts/images/flash-images.ts";
import type { EdgeAccess } from "../../support/lone-edge.ts";
import { inTurn } from "../../support/turn.ts";
import { CommandFixture } from "./flash-command.ts";

const PACKAGE = join(import.meta.dirname, "../../../sdk/python/src");

export type ContainerFixture<Place> = AsyncDisposable & {
  readonly fixture: CommandFixture;
  readonly place: Place;
};

/** Makes the runtime images of flash while a place starts that runs them; the commands of the fixture know where it is. */
export async function openContainerFixture<Place extends EdgeAccess & AsyncDisposable>(
  starting: Promise<Place>,
): Promise<ContainerFixture<Place>> {
  const [place] = await Promise.all([
    starting,
    inTurn("flash-images", () => ensureFlashImages(() => undefined)),
  ]);
  const fixture = await CommandFixture.open(inject("flashBundle"), {
    EDGERUN_URL: place.baseUrl,
    SVC_API_KEY: place.apiKey,
    PYTHONPATH: PACKAGE,
    // Where uv is installed, it trusts whom the computer trusts, as pip does.
    UV_SYSTEM_CERTS: "1",
  });
  return {
    fixture,
    place,
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}
