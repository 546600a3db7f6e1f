/** Makes endpoints on a running Edgerun, through the management API. */
import { resolve } from "node:path";
import { managementApi } from "../../standalone/management-api.ts";

const HELLO_WORKER = resolve(import.meta.dirname, "../../examples/hello/worker.mjs");

type Target = { readonly baseUrl: string; readonly apiKey: string };

export type EndpointSettings = {
  readonly name: string;
  readonly type?: "QB" | "LB";
  readonly imageName?: string;
  readonly dockerArgs?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly idleTimeout?: number;
  readonly executionTimeoutMs?: number;
  readonly workersMin?: number;
  readonly workersMax?: number;
  readonly gpuIds?: string;
  readonly locations?: string;
  readonly scalerType?: "QUEUE_DELAY" | "REQUEST_COUNT";
  readonly scalerValue?: number;
  readonly containerRegistryAuthId?: string;
  readonly flashBootType?: "FLASHBOOT" | "PRIORITY_FLASHBOOT";
  readonly containerDiskInGb?: number;
  readonly networkVolumeId?: string;
};

/** Creates a template and an endpoint that uses it; returns the endpoint's id. */
export async function createEndpoint(target: Target, settings: EndpointSettings): Promise<string> {
  const api = managementApi(target.baseUrl, target.apiKey);
  const { saveTemplate } = await api.query<{ saveTemplate: { id: string } }>(
    "mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }",
    {
      input: {
        name: settings.name,
        imageName: settings.imageName ?? "none",
        dockerArgs: settings.dockerArgs ?? "",
        env: Object.entries(settings.env ?? {}).map(([key, value]) => ({ key, value })),
        containerRegistryAuthId: settings.containerRegistryAuthId ?? "",
        containerDiskInGb: settings.containerDiskInGb ?? 5,
        volumeInGb: 0,
        isServerless: true,
      },
    },
  );
  const { saveEndpoint } = await api.query<{ saveEndpoint: { id: string } }>(
    "mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }",
    {
      input: {
        name: settings.name,
        ...(settings.type && { type: settings.type }),
        templateId: saveTemplate.id,
        gpuIds: settings.gpuIds ?? "ADA_24",
        idleTimeout: settings.idleTimeout ?? 60,
        ...(settings.workersMin && { workersMin: settings.workersMin }),
        ...(settings.flashBootType && { flashBootType: settings.flashBootType }),
        ...(settings.networkVolumeId && { networkVolumeId: settings.networkVolumeId }),
        ...(settings.workersMax !== undefined && { workersMax: settings.workersMax }),
        ...(settings.locations && { locations: settings.locations }),
        ...(settings.scalerType && { scalerType: settings.scalerType }),
        ...(settings.scalerValue && { scalerValue: settings.scalerValue }),
        ...(settings.executionTimeoutMs && { executionTimeoutMs: settings.executionTimeoutMs }),
      },
    },
  );
  return saveEndpoint.id;
}

/** The endpoint that `npm start` makes as an example, its workers as plain processes; returns its id. */
export function createHelloEndpoint(target: Target): Promise<string> {
  return createEndpoint(target, { name: "hello", dockerArgs: `node "${HELLO_WORKER}"`, workersMax: 2 });
}
