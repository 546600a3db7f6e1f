/** Input of the management API for a live endpoint. */
import { createHash } from "node:crypto";
import { LIVE_PREFIX } from "../../../src/contract/flash/flash-live.ts";
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import { type EndpointInput, toEndpointInput } from "../../deploy/endpoint-input.ts";
import { volumesOf } from "../../deploy/volumes.ts";

type Declared = { readonly name: string; readonly resource: ManifestResource };

/** Concurrency of workers; deployed ones read it from the manifest. */
const CONCURRENCY_VARIABLE = "_FLASH_MAX_CONCURRENCY";

export function toLiveInput({ name, resource }: Declared, volumeIds: readonly string[]): EndpointInput {
  const input = toEndpointInput(`${LIVE_PREFIX}${name}`, resource, { volumeIds });
  const concurrency = resource.client_mode ? 1 : (resource.max_concurrency ?? 1);
  if (concurrency <= 1) return input;
  const variable = { key: CONCURRENCY_VARIABLE, value: String(concurrency) };
  return { ...input, template: { ...input.template, env: [...input.template.env, variable] } };
}

/** Changes with the input for the service; volumes count as declared. */
export function configurationHash(declared: Declared): string {
  const facts = { ...toLiveInput(declared, []), volumes: volumesOf(declared.resource) };
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex");
}
