/** The packed files of an app, on their way to a host. */
import { sha256Schema } from "../../contract/agent/artifact.ts";
import { openDatabase } from "../../db/database.ts";
import { findStoredArtifact } from "../../db/flash/deployments.ts";
import { ServiceError } from "../../contract/errors.ts";
import { fleetStub } from "../endpoint-directory.ts";
import { artifactResponse } from "../artifacts/stored-artifact.ts";
import type { AgentContext } from "./context.ts";

/**
 * `GET /agent/v1/artifacts/<sha256>`: an artifact, or the part that Range asks for, of an app of which Fleet has placed
 * a worker on the host.
 */
export async function sendArtifact(context: AgentContext): Promise<Response> {
  const { data: sha256 } = sha256Schema.safeParse(context.req.param("sha256"));
  if (sha256 === undefined)
    throw new ServiceError("invalid_input", "sha256: must be 64 lower-case hex digits.");
  const { accountId, hostId } = context.get("host");
  const assigned = await fleetStub(context.env).assignments(hostId);
  const endpointIds = assigned.kind === "removed" ? [] : assigned.workers.map(({ endpointId }) => endpointId);
  const stored = await findStoredArtifact(openDatabase(context.env.DB), accountId, endpointIds, sha256);
  const response =
    stored && (await artifactResponse(context.req.raw, context.env.ARTIFACTS, { ...stored, sha256 }));
  if (response) return response;
  throw new ServiceError(
    "not_found",
    `No worker of this host has an artifact ${sha256}. Its build may have been deleted; deploy the app again.`,
  );
}
