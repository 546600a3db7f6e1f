/** Reading what a key shall be and may do. */
import * as z from "zod";
import {
  allowsNothing,
  FULL_PERMISSIONS,
  READ_ONLY_PERMISSIONS,
  type Access,
  type Permissions,
} from "../../domain/accounts/permissions.ts";
import {
  optional,
  optionalNonEmpty,
  nameSchema,
  oneOf,
  idSchema,
  stringSchema,
  wholeNumber,
} from "../input-schemas.ts";

export const API_KEY_TTL_MIN_MS = 60_000;
const API_KEY_TTL_MAX_MS = 3_650 * 86_400_000;
/** Endpoints that one key may name; a key that needs more gets access to all. */
const API_KEY_ENDPOINTS_MAX = 100;

const SECOND_MS = 1_000;

const accessSchema = z
  .preprocess((value) => (typeof value === "string" ? value.toLowerCase() : value), z.string())
  .pipe(z.enum(["none", "read", "write"], "must be NONE, READ or WRITE"));

const permissionsSchema = z
  .object({
    graphql: optional(accessSchema),
    allEndpoints: optional(accessSchema),
    endpoints: optional(
      z
        .array(z.object({ endpointId: stringSchema, access: accessSchema }))
        .max(
          API_KEY_ENDPOINTS_MAX,
          `must name at most ${API_KEY_ENDPOINTS_MAX}; allEndpoints covers them all`,
        )
        .refine(hasNoRepetition, "must name each endpoint once"),
    ),
    shell: optional(z.boolean()),
  })
  .refine(({ allEndpoints, endpoints }) => allEndpoints === undefined || endpoints === undefined, {
    path: ["endpoints"],
    message: "must not be sent together with allEndpoints",
  })
  .transform(({ graphql = "none", allEndpoints = "none", endpoints, shell = false }): Permissions => ({
    graphql,
    endpoints: endpoints === undefined ? allEndpoints : byId(endpoints),
    ...(shell && { shell }),
  }))
  .refine(
    (permissions) => !allowsNothing(permissions),
    "must allow something: set graphql, allEndpoints, endpoints or shell",
  );

const LEVELS = ["ALL", "READ_ONLY", "RESTRICTED"] as const;

/** `level` and `permissions` in one: a level for everything, or RESTRICTED (which may be omitted) with a list. */
const scopeFields = { level: optionalNonEmpty(oneOf(LEVELS)), permissions: optional(permissionsSchema) };

type Scope = {
  readonly level?: (typeof LEVELS)[number] | undefined;
  readonly permissions?: Permissions | undefined;
};

function scopeIssue({ level = "RESTRICTED", permissions }: Scope): string | undefined {
  if (level === "RESTRICTED") {
    return permissions === undefined ? "must be ALL or READ_ONLY, or RESTRICTED with permissions" : undefined;
  }
  return permissions === undefined
    ? undefined
    : `${level} says everything; leave permissions out, or use RESTRICTED`;
}

function permissionsOf({ level, permissions = READ_ONLY_PERMISSIONS }: Scope): Permissions {
  return level === "ALL" ? FULL_PERMISSIONS : permissions;
}

export const newKeySchema = z
  .object({
    name: nameSchema,
    ...scopeFields,
    expiresAt: optionalNonEmpty(
      z
        .union(
          [z.iso.datetime({ offset: true }), z.iso.date()],
          "must be ISO 8601, such as 2027-01-31T12:00:00Z",
        )
        .transform((value) => Date.parse(value)),
    ),
    expiresInSeconds: optional(wholeNumber(API_KEY_TTL_MIN_MS / SECOND_MS, API_KEY_TTL_MAX_MS / SECOND_MS)),
  })
  .superRefine((input, check) => {
    const issue = scopeIssue(input);
    if (issue !== undefined) check.addIssue({ code: "custom", path: ["level"], message: issue });
    if (input.expiresAt === undefined || input.expiresInSeconds === undefined) return;
    const message = "must not be sent together with expiresInSeconds";
    check.addIssue({ code: "custom", path: ["expiresAt"], message });
  })
  .transform((input) => ({ ...input, permissions: permissionsOf(input) }));

export const keyChangeSchema = z
  .object({
    id: idSchema,
    name: optionalNonEmpty(nameSchema),
    ...scopeFields,
  })
  .superRefine((input, check) => {
    const issue = hasScope(input) ? scopeIssue(input) : undefined;
    if (issue !== undefined) check.addIssue({ code: "custom", path: ["level"], message: issue });
  })
  .transform(({ id, name, ...scope }) => ({
    id,
    name,
    permissions: hasScope(scope) ? permissionsOf(scope) : undefined,
  }));

export type NewKey = z.output<typeof newKeySchema>;
export type KeyChange = z.output<typeof keyChangeSchema>;

/** When the key ends; null for never. */
export function expiryOf({ expiresAt, expiresInSeconds }: NewKey, now: number): number | null {
  return expiresInSeconds === undefined ? (expiresAt ?? null) : now + expiresInSeconds * SECOND_MS;
}

function hasScope({ level, permissions }: Scope): boolean {
  return level !== undefined || permissions !== undefined;
}

type NamedAccess = { readonly endpointId: string; readonly access: Access };

function hasNoRepetition(endpoints: readonly NamedAccess[]): boolean {
  return new Set(endpoints.map(({ endpointId }) => endpointId)).size === endpoints.length;
}

function byId(endpoints: readonly NamedAccess[]): Readonly<Record<string, Access>> {
  return Object.fromEntries(endpoints.map(({ endpointId, access }) => [endpointId, access]));
}
