import type { RequestContext } from "../context.ts";

/** All that the catalog needs: it is the same for every caller, so it does not know who calls. */
export type CatalogContext = Pick<RequestContext, "env" | "now">;
