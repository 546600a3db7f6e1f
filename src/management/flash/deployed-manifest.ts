/** What a manifest says of the deployment of its build. */
import type { FlashManifest } from "../../contract/flash/flash-manifest.ts";

/** Whether every resource has an address. */
export function isCompleteManifest({ resources, resources_endpoints: urls }: FlashManifest): boolean {
  return urls !== undefined && Object.keys(resources).every((name) => Object.hasOwn(urls, name));
}

/** Ids of the endpoints that its resources became. */
export function namedEndpoints({ resources }: FlashManifest): readonly string[] {
  return Object.values(resources).flatMap(({ endpoint_id: id }) => id ?? []);
}
