/** Artifacts of flash apps, to be mounted at /artifacts. The token in the address is all that a caller needs. */
import { Hono } from "hono";
import { ServiceError } from "../../contract/errors.ts";
import { renderError } from "../errors.ts";
import type { ArtifactsApi } from "./context.ts";
import { sendDownload } from "./download.ts";
import { receiveArtifact } from "./upload.ts";
import { receivePart } from "./upload-part.ts";

export function artifactRoutes(): Hono<ArtifactsApi> {
  const routes = new Hono<ArtifactsApi>();
  routes.onError(renderError);
  // Whoever has the address has the token: nobody between may keep it.
  routes.use(async (context, next) => {
    context.header("Cache-Control", "private, no-store");
    await next();
  });
  routes.put("/uploads/:token", receiveArtifact);
  routes.put("/uploads/:token/parts/:number", receivePart);
  routes.get("/downloads/:token", sendDownload);
  routes.all("*", (context) => {
    throw new ServiceError("not_found", `There is no operation ${context.req.method} at this address.`);
  });
  return routes;
}
