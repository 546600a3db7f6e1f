/** What an API key allows, independent of its owner. */

/** Longest time for which an edge location may accept a revoked key. */
export const CREDENTIAL_CACHE_MS = 30_000;

export const ACCESSES = ["none", "read", "write"] as const;
export type Access = (typeof ACCESSES)[number];

export type Permissions = {
  /** The management API: GraphQL and its REST companion. */
  readonly graphql: Access;
  /** The endpoints themselves (jobs, requests): all alike, or by id, where what is not named is "none". */
  readonly endpoints: Access | { readonly [endpointId: string]: Access };
  /** Running commands in containers and reaching their ports, through tunnels. Absent: no. */
  readonly shell?: boolean;
};

/** Everything but `shell`, which is given by name. */
export const FULL_PERMISSIONS: Permissions = { graphql: "write", endpoints: "write" };
/** Of keys that nobody of the account has given: that of the environment, and the first of an account. */
export const OWNER_PERMISSIONS: Permissions = { ...FULL_PERMISSIONS, shell: true };
export const READ_ONLY_PERMISSIONS: Permissions = { graphql: "read", endpoints: "read" };
export const NO_PERMISSIONS: Permissions = { graphql: "none", endpoints: "none" };

const RANK: Record<Access, number> = { none: 0, read: 1, write: 2 };

/** Whether the access `granted` includes the access `needed`. */
export function suffices(granted: Access, needed: Access): boolean {
  return RANK[granted] >= RANK[needed];
}

/** What the holder may do with one endpoint. */
export function accessToEndpoint({ endpoints }: Permissions, endpointId: string): Access {
  if (typeof endpoints === "string") return endpoints;
  return Object.hasOwn(endpoints, endpointId) ? (endpoints[endpointId] ?? "none") : "none";
}

/** Whether `granted` allows everything that `requested` allows. */
export function covers(granted: Permissions, requested: Permissions): boolean {
  return missingIn(granted, requested) === undefined;
}

/** The first permission that `requested` has and `granted` lacks, as a client would write it. */
export function missingIn(granted: Permissions, requested: Permissions): string | undefined {
  if (requested.shell === true && granted.shell !== true) return "shell: true";
  if (!suffices(granted.graphql, requested.graphql)) return `graphql: ${requested.graphql.toUpperCase()}`;
  if (typeof requested.endpoints !== "string") {
    const [missing] = Object.entries(requested.endpoints).filter(
      ([endpointId, access]) => !suffices(accessToEndpoint(granted, endpointId), access),
    );
    return missing && `endpoint ${missing[0]}: ${missing[1].toUpperCase()}`;
  }
  // Access to all endpoints counts those that will be made later, which no list names.
  const grantedForAll = typeof granted.endpoints === "string" ? granted.endpoints : "none";
  return suffices(grantedForAll, requested.endpoints)
    ? undefined
    : `allEndpoints: ${requested.endpoints.toUpperCase()}`;
}

/** Whether nothing at all is allowed. */
export function allowsNothing(permissions: Permissions): boolean {
  return covers(NO_PERMISSIONS, permissions);
}

export type PermissionLevel = "ALL" | "READ_ONLY" | "RESTRICTED";

/** The word for common permissions; RESTRICTED for all others. */
export function levelOf({ graphql, endpoints, shell = false }: Permissions): PermissionLevel {
  if (graphql === "write" && endpoints === "write") return "ALL"; // with `shell` or without
  return graphql === "read" && endpoints === "read" && !shell ? "READ_ONLY" : "RESTRICTED";
}
