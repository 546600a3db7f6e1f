/** The reserved endpoint id `flash`: headers name the endpoint, by the names that an app's code knows. */
import type { Context } from "hono";
import { authenticateAny } from "../../auth/environment-principal.ts";
import { networkOf } from "../../auth/request-rates.ts";
import { hasErrorCode, ServiceError } from "../../contract/errors.ts";
import {
  FLASH_APP_HEADER,
  FLASH_ENDPOINT_HEADER,
  FLASH_ENDPOINT_ID_HEADER,
  FLASH_ENVIRONMENT_HEADER,
} from "../../contract/flash/flash-names.ts";
import { NAME_MAX_CHARACTERS } from "../../contract/limits.ts";
import type { Env } from "../../env.ts";
import { forgetQualifiedName, resolveQualifiedName } from "../../management/flash/qualified-names.ts";

type NameContext = Pick<Context<{ Bindings: Env }>, "env" | "error" | "req" | "res">;

/** Serves the endpoint that the headers name; the answer carries its id. */
export async function serveByName(
  context: NameContext,
  serve: (endpointId: string) => Promise<void>,
): Promise<void> {
  const { env, req } = context;
  const caller = await authenticateAny(env, req.header("Authorization"), Date.now(), networkOf(env, req.raw));
  if (caller.kind === "unauthorized") throw new ServiceError("unauthorized", caller.message);
  const name = {
    app: readName(context, FLASH_APP_HEADER),
    environment: readName(context, FLASH_ENVIRONMENT_HEADER),
    endpoint: readName(context, FLASH_ENDPOINT_HEADER),
  };
  const endpointId = await resolveQualifiedName(env, caller, name);
  const forgetIfGone = (error: unknown) => {
    if (hasErrorCode(error, "endpoint_not_found")) forgetQualifiedName(caller, name);
  };
  try {
    await serve(endpointId);
  } catch (error) {
    forgetIfGone(error);
    throw error;
  }
  forgetIfGone(context.error);
  context.res.headers.set(FLASH_ENDPOINT_ID_HEADER, endpointId);
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
