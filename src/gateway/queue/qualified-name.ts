/** The reserved endpoint id `flash`: headers say which endpoint is meant, by the names that an app's code knows. */
import type { Context } from "hono";
import { authenticateAny } from "../../auth/environment-principal.ts";
import type { Principal } from "../../auth/principal.ts";
import { countFailure, networkOf, refuseExhausted } from "../../auth/request-rates.ts";
import {
  FLASH_APP_HEADER,
  FLASH_ENDPOINT_HEADER,
  FLASH_ENDPOINT_ID_HEADER,
  FLASH_ENVIRONMENT_HEADER,
} from "../../contract/flash/flash-names.ts";
import { FLASH_URL_CACHE_MS } from "../../contract/flash/flash-limits.ts";
import { NAME_MAX_CHARACTERS } from "../../contract/limits.ts";
import { openDatabase } from "../../db/database.ts";
import { findEndpointByQualifiedName, type QualifiedEndpointName } from "../../db/flash/deployments.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import type { Env } from "../../env.ts";
import { ServiceError, hasErrorCode } from "../../contract/errors.ts";
import { outsideEnvironment } from "./environment-key.ts";

type Found = { readonly environmentId: string; readonly endpointId: string };
type NameContext = Pick<Context<{ Bindings: Env }>, "env" | "error" | "req" | "res">;

const CACHE_SIZE = 10_000;
const cache = new BoundedMap<Found & { readonly until: number }>(CACHE_SIZE);

/** Serves the endpoint that the headers name, and says its id in the answer. */
export async function serveByName(
  context: NameContext,
  serve: (endpointId: string) => Promise<void>,
): Promise<void> {
  const { env, req } = context;
  const caller = await authenticateAny(env, req.header("Authorization"), Date.now(), networkOf(env, req.raw));
  if (caller.kind === "unauthorized") throw new ServiceError("unauthorized", caller.message);
  const qualifiedName = readQualifiedName(context);
  const key = JSON.stringify([
    caller.accountId,
    qualifiedName.app,
    qualifiedName.environment,
    qualifiedName.endpoint,
  ]);
  const { endpointId } = await resolve(env, caller, qualifiedName, key);
  try {
    await serve(endpointId);
  } catch (error) {
    forgetIfGone(key, error);
    throw error;
  }
  forgetIfGone(key, context.error);
  context.res.headers.set(FLASH_ENDPOINT_ID_HEADER, endpointId);
}

async function resolve(
  env: Env,
  caller: Principal,
  qualifiedName: QualifiedEndpointName,
  key: string,
): Promise<Found> {
  const cached = cache.get(key);
  const now = Date.now();
  const isFresh = cached !== undefined && now < cached.until;
  if (!isFresh) refuseExhausted("unknown", caller.accountId, now);
  const found = isFresh
    ? cached
    : await findEndpointByQualifiedName(openDatabase(env.DB), caller.accountId, qualifiedName);
  // Who is bound to an environment learns nothing of what there is beside it.
  if (caller.flashEnvironmentId !== undefined && found?.environmentId !== caller.flashEnvironmentId) {
    throw outsideEnvironment(`app '${qualifiedName.app}', environment '${qualifiedName.environment}'`);
  }
  if (!found?.endpointId) {
    await countFailure(env, "unknown", caller.accountId, now);
    throw notFound(qualifiedName);
  }
  const { environmentId, endpointId } = found;
  if (!isFresh) cache.set(key, { environmentId, endpointId, until: Date.now() + FLASH_URL_CACHE_MS });
  return { environmentId, endpointId };
}

/** Another endpoint may have this name by now. */
function forgetIfGone(key: string, error: unknown): void {
  if (hasErrorCode(error, "endpoint_not_found")) cache.delete(key);
}

function readQualifiedName(context: NameContext): QualifiedEndpointName {
  return {
    app: readName(context, FLASH_APP_HEADER),
    environment: readName(context, FLASH_ENVIRONMENT_HEADER),
    endpoint: readName(context, FLASH_ENDPOINT_HEADER),
  };
}

function readName({ req }: NameContext, header: string): string {
  const name = req.header(header) ?? "";
  if (name !== "" && name.length <= NAME_MAX_CHARACTERS) return name;
  const issue = name === "" ? "is missing" : `has more than ${NAME_MAX_CHARACTERS} characters`;
  throw new ServiceError(
    "invalid_input",
    `Header ${header} ${issue}: the endpoint id 'flash' stands for the endpoint that ${FLASH_APP_HEADER}, ` +
      `${FLASH_ENVIRONMENT_HEADER} and ${FLASH_ENDPOINT_HEADER} name.`,
  );
}

function notFound({ app, environment, endpoint }: QualifiedEndpointName): ServiceError {
  return new ServiceError(
    "endpoint_not_found",
    `Endpoint '${endpoint}' was not found in app '${app}', environment '${environment}'. Deploy it with flash deploy, or check the names.`,
  );
}
