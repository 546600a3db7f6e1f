import { buildOfDownloadToken } from "../../auth/derived-keys.ts";
import { countRequest } from "../../auth/request-rates.ts";
import { openDatabase } from "../../db/database.ts";
import { findAnyFlashBuild } from "../../db/flash/builds.ts";
import { ServiceError } from "../../contract/errors.ts";
import { artifactResponse } from "./stored-artifact.ts";
import type { ArtifactsContext } from "./context.ts";

/** `GET /artifacts/downloads/<token>`: the artifact of a build, or the part that Range asks for. */
export async function sendDownload(context: ArtifactsContext): Promise<Response> {
  const { env, req } = context;
  const now = Date.now();
  const token = req.param("token") ?? "";
  const buildId = await buildOfDownloadToken(env, token, now);
  if (buildId !== undefined) await countRequest(env, "artifacts", token, now);
  const build = buildId && (await findAnyFlashBuild(openDatabase(env.DB), buildId));
  const response = build && (await artifactResponse(req.raw, env.ARTIFACTS, build));
  if (response) return response;
  throw new ServiceError(
    "not_found",
    "This address of an artifact has expired, or its build was deleted. Ask for activeArtifact again.",
  );
}
