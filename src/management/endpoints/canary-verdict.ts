/** What the verdict of an endpoint's object about a version on trial changes. */
import type { EndpointConfig } from "../../contract/endpoint.ts";
import { endCanary, findOwnEndpoint, type EndpointRecord } from "../../db/endpoints.ts";
import { FULL_PERMISSIONS } from "../../domain/accounts/permissions.ts";
import type { SettledCanary } from "../../domain/rollouts/canary-rule.ts";
import type { Env } from "../../env.ts";
import { authorOf, openContext, type RequestContext } from "../context.ts";
import { logFailure } from "../failure-log.ts";
import { announceEndpoint } from "./endpoint-announcement.ts";
import { rollbackEndpoint } from "./rollback.ts";

/** Carries out a verdict, unless the endpoint has changed meanwhile. The object repeats it until that has succeeded. */
export async function settleCanary(
  env: Env,
  { accountId, endpointId }: Pick<EndpointConfig, "accountId" | "endpointId">,
  verdict: SettledCanary,
  now: number,
): Promise<void> {
  const context = serviceContext(env, accountId, now);
  await applyVerdict(context, endpointId, verdict).catch((cause: unknown) =>
    logFailure("endpoint_not_notified", { endpointId }, cause),
  );
}

async function applyVerdict(
  context: RequestContext,
  endpointId: string,
  verdict: SettledCanary,
): Promise<void> {
  const read = await findOwnEndpoint(context.db, context.principal.accountId, endpointId);
  if (!read?.canary || read.version !== verdict.version) return;
  if (verdict.kind === "on") return await goOn(context, read);
  const { from } = read.canary;
  const reason = `canary of v${read.version} went back to v${from}: ${verdict.reason}`;
  await rollbackEndpoint(context, { endpointId, version: from, reason });
}

async function goOn(context: RequestContext, read: EndpointRecord): Promise<void> {
  const changed = await endCanary(context.db, authorOf(context), read);
  if (changed) await announceEndpoint(context, changed);
}

/** What the service does by itself, which no key has asked for. */
function serviceContext(env: Env, accountId: string, now: number): RequestContext {
  return openContext(env, {
    principal: {
      kind: "principal",
      accountId,
      apiKeyId: "",
      name: "canary",
      isRoot: false,
      permissions: FULL_PERMISSIONS,
      expiresAt: null,
    },
    now,
    operation: "canary",
    origin: "",
  });
}
