/** Names of flash apps, and the constants that clients and the edge share. */
import * as z from "zod";
import { NAME_MAX_CHARACTERS } from "../limits.ts";
import { formatReasons } from "../validation-issues.ts";

/** Names of apps, environments and endpoints of app code: they become part of file names, URLs and generated code. */
export const flashNameSchema = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(NAME_MAX_CHARACTERS, `must have at most ${NAME_MAX_CHARACTERS} characters`)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]*$/,
    "must begin with a letter or digit, and hold letters, digits, - and _ only",
  );

/** Why such a name is invalid, to be read after it; undefined for a valid one. */
export function flashNameIssue(name: string): string | undefined {
  const { error } = flashNameSchema.safeParse(name);
  return error && formatReasons(error);
}

/** Environment that a deployment creates when it names none. */
export const DEFAULT_ENVIRONMENT = "production";

export const ENVIRONMENT_STATES = ["PENDING", "DEPLOYING", "DEPLOYED", "FAILED", "DELETING"] as const;

export const AUTH_REQUEST_STATUSES = ["PENDING", "APPROVED", "CONSUMED", "DENIED", "EXPIRED"] as const;
export type AuthRequestStatus = (typeof AUTH_REQUEST_STATUSES)[number];

/** Stands for an endpoint id where the headers below say which endpoint is meant. */
export const FLASH_ENDPOINT_ID = "flash";
export const FLASH_APP_HEADER = "X-Flash-App";
export const FLASH_ENVIRONMENT_HEADER = "X-Flash-Environment";
export const FLASH_ENDPOINT_HEADER = "X-Flash-Endpoint";
/** In the answer: the id of the endpoint, for further calls. */
export const FLASH_ENDPOINT_ID_HEADER = "X-Flash-Endpoint-Id";

/** Characters of each half of a login code. */
const HALF = 4;

/**
 * The short form of a login request's id, such as ABCD-EFGH. The command and the page in the browser show it, so that
 * the user sees that both are about the same login.
 */
export function loginCodeOf(requestId: string): string {
  return `${requestId.slice(0, HALF)}-${requestId.slice(HALF, 2 * HALF)}`;
}
