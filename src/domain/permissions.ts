/** What an API key may do, apart from who holds it. */

export type Access = "none" | "read" | "write";

export type Permissions = {
  /** The management API: GraphQL and its REST companion. */
  readonly graphql: Access;
  /** The endpoints themselves (jobs, requests): all alike, or by id, where what is not named is "none". */
  readonly endpoints: Access | { readonly [endpointId: string]: Access };
};

export const FULL_PERMISSIONS: Permissions = { graphql: "write", endpoints: "write" };

const RANK: Record<Access, number> = { none: 0, read: 1, write: 2 };

/** Says whether what is held suffices for what is needed. */
export function suffices(held: Access, needed: Access): boolean {
  return RANK[held] >= RANK[needed];
}

/** What the holder may do with one endpoint. */
export function accessToEndpoint({ endpoints }: Permissions, endpointId: string): Access {
  if (typeof endpoints === "string") return endpoints;
  return Object.hasOwn(endpoints, endpointId) ? (endpoints[endpointId] ?? "none") : "none";
}
