/** Flash apps: what their names may be, and the words that clients and the edge share. */
import * as z from "zod";
import { NAME_MAX_CHARACTERS } from "../limits.ts";

/** Of apps, environments and endpoints of app code: they go into file names, addresses and generated code. */
export const flashNameSchema = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(NAME_MAX_CHARACTERS, `must have at most ${NAME_MAX_CHARACTERS} characters`)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]*$/,
    "must begin with a letter or digit, and hold letters, digits, - and _ only",
  );

/** Environment that a deploy makes when none is named. */
export const DEFAULT_ENVIRONMENT = "production";

export const ENVIRONMENT_STATES = ["PENDING", "DEPLOYING", "DEPLOYED", "FAILED", "DELETING"] as const;

export const AUTH_REQUEST_STATUSES = ["PENDING", "APPROVED", "CONSUMED", "DENIED", "EXPIRED"] as const;
export type AuthRequestStatus = (typeof AUTH_REQUEST_STATUSES)[number];

/** Stands for an endpoint id where the headers below say which endpoint is meant. */
export const FLASH_ENDPOINT_ID = "flash";
export const FLASH_APP_HEADER = "X-Flash-App";
export const FLASH_ENVIRONMENT_HEADER = "X-Flash-Environment";
export const FLASH_ENDPOINT_HEADER = "X-Flash-Endpoint";
/** In the answer: the id with which a client may go on. */
export const FLASH_ENDPOINT_ID_HEADER = "X-Flash-Endpoint-Id";
