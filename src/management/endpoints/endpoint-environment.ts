/** What being part of a flash environment asks of an endpoint, and gives to it. */
import { flashNameIssue } from "../../contract/flash/flash-names.ts";
import { findEndpointOfEnvironment, type EndpointRecord } from "../../db/endpoints.ts";
import { findPinnedBuild } from "../../db/flash/builds.ts";
import type { RequestContext } from "../context.ts";
import { requireOpenEnvironment } from "../flash/open-environment.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { EndpointPatch } from "../nouns/endpoint.ts";
import type { EndpointSettings } from "./endpoint-settings.ts";

type Membership = Pick<EndpointSettings, "flashEnvironmentId" | "name">;

/** The endpoint that a patch without an id means, since its flash environment has one of this name. */
export async function findNamesake(
  { db, principal }: RequestContext,
  { flashEnvironmentId, name }: Pick<EndpointPatch, "flashEnvironmentId" | "name">,
): Promise<EndpointRecord | undefined> {
  if (flashEnvironmentId === undefined || name === undefined) return undefined;
  return await findEndpointOfEnvironment(db, principal.accountId, flashEnvironmentId, name);
}

/** Gives settings the build that a release made now has. */
export async function withBuild<Settings extends EndpointSettings>(
  { db }: RequestContext,
  settings: Settings,
): Promise<Settings> {
  const { flashEnvironmentId, name } = settings;
  const flashBuildId =
    flashEnvironmentId === null ? null : await findPinnedBuild(db, flashEnvironmentId, name);
  return { ...settings, flashBuildId };
}

/** Refuses a flash environment that takes nothing, and a name that cannot stand in it; gives the environment's id. */
export async function requireMembership(
  context: RequestContext,
  { flashEnvironmentId, name }: Membership,
  endpointId?: string,
): Promise<string | null> {
  if (flashEnvironmentId === null) return null;
  const { accountId } = context.principal;
  await requireOpenEnvironment(context, flashEnvironmentId);
  const issue = flashNameIssue(name);
  if (issue) throw new ServiceError("invalid_input", `name: in a flash environment it ${issue}`);

  const holder = await findEndpointOfEnvironment(context.db, accountId, flashEnvironmentId, name);
  if (holder === undefined || holder.id === endpointId) return flashEnvironmentId;
  throw new ServiceError(
    "endpoint_name_taken",
    `name: an endpoint named '${name}' already exists in this flash environment: ${holder.id}`,
  );
}
