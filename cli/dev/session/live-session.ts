/** The endpoints of a running `flash dev` on the service. */
import type { LiveEndpoint } from "../app/live-app.ts";
import { createHash } from "node:crypto";
import { LIVE_PREFIX } from "../../../src/contract/flash/flash-live.ts";
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import { type EndpointInput, toEndpointInput } from "../../deploy/endpoint-input.ts";
import { volumesOf } from "../../deploy/volumes.ts";

/** Where a live endpoint is. */
export type LivePlace = {
  readonly endpointId: string;
  /** Authorizes the execution of code on its workers. */
  readonly liveToken: string;
};

export type Provisioned = {
  readonly name: string;
  readonly outcome: "cached" | "deployed" | "updated" | "failed";
  readonly error?: string;
};

export interface LiveSession {
  /** Creates or updates the endpoint as it is declared now. Throws a Failure that names it and the reason. */
  place(endpoint: LiveEndpoint): Promise<LivePlace>;
  /** Places all endpoints, three at a time; ends early when the command is interrupted. */
  placeAll(
    endpoints: readonly LiveEndpoint[],
    onEach: (one: Provisioned) => void,
  ): Promise<readonly Provisioned[]>;
  /** Endpoints that do not exist, or not as they are declared. */
  lacking(endpoints: readonly LiveEndpoint[]): readonly LiveEndpoint[];
  /** Forgets the place of an endpoint that was found to be deleted. */
  forget(name: string): void;
  /** Deletes endpoints that are no longer declared. */
  keepOnly(names: readonly string[]): Promise<void>;
  /** Deletes all endpoints; `left` names those that could not be deleted. */
  close(): Promise<{ readonly deleted: number; readonly left: readonly string[] }>;
  /** Names and ids of endpoints that would be left if the process ended now. */
  left(): readonly string[];
}

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
