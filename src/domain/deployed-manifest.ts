/** What a manifest says of the deployment of its build. */
import type { FlashManifest } from "../contract/flash-manifest.ts";

/** Whether every resource has an address. */
export function isCompleteManifest({ resources, resources_endpoints: addresses }: FlashManifest): boolean {
  return addresses !== undefined && Object.keys(resources).every((name) => Object.hasOwn(addresses, name));
}

/** Ids of the endpoints that its resources became. */
export function namedEndpoints({ resources }: FlashManifest): readonly string[] {
  return Object.values(resources).flatMap(({ endpoint_id: id }) => id ?? []);
}
