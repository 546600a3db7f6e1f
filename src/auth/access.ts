/** Messages about missing access, the same for all APIs. */
import { accessToEndpoint, suffices, type Access } from "../domain/accounts/permissions.ts";
import type { Principal } from "./principal.ts";

type Needed = Exclude<Access, "none">;

/** Returns what the caller lacks for the management API; undefined when nothing is lacking. */
export function missingManagementAccess(
  { name, permissions }: Principal,
  needed: Needed,
): string | undefined {
  const granted = permissions.graphql;
  if (suffices(granted, needed)) return undefined;
  if (granted === "read") {
    return `The API key '${name}' may read the management API but not change anything (graphql: READ). Use a key with graphql: WRITE, or widen this one.`;
  }
  return `The API key '${name}' has no access to the management API (graphql: NONE). Use a key with graphql: ${needed.toUpperCase()}, or widen this one.`;
}

/** Returns what the caller lacks for commands in containers and for ports that are not declared. */
export function missingShellAccess({ name, permissions }: Principal): string | undefined {
  if (permissions.shell === true) return undefined;
  return `The API key '${name}' may not open shells in containers (shell: false). Use a key with shell: true; a key that has it can make one: createApiKey(input: { name: "…", permissions: { shell: true } }).`;
}

/** Returns what the caller lacks for an endpoint of its account; undefined when nothing is lacking. */
export function missingEndpointAccess(
  { name, permissions }: Principal,
  endpointId: string,
  needed: Needed,
): string | undefined {
  const granted = accessToEndpoint(permissions, endpointId);
  if (suffices(granted, needed)) return undefined;
  return granted === "read"
    ? `The API key '${name}' may read endpoint ${endpointId} but not write it. Use a key with write access, or widen this one.`
    : `The API key '${name}' has no access to endpoint ${endpointId}. Use a key with ${needed} access, or widen this one.`;
}
