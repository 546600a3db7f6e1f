/** Endpoints and templates as they are made and changed on the command line: an image, its settings and its workers. */
import * as z from "zod";
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { operation, type Service } from "../service/service.ts";
import { endpoints, openEndpoint } from "./endpoints.ts";
import { chooseRow, type Noun } from "./noun.ts";
import { registries, templates, volumes } from "./nouns.ts";

export type ContainerOptions = {
  readonly image?: string;
  readonly command?: string;
  readonly disk?: number;
  readonly env: Readonly<Record<string, string>>;
  readonly registry?: string;
};

export type TemplateOptions = ContainerOptions & { readonly pods?: boolean };

export type EndpointOptions = ContainerOptions & {
  readonly template?: string;
  readonly type?: string;
  readonly gpu?: string;
  readonly gpus?: number;
  readonly cpu?: string;
  readonly workersMin?: number;
  readonly workersMax?: number;
  readonly idleTimeout?: number;
  readonly executionTimeout?: number;
  readonly volume?: string;
};

const saved = z.object({ id: z.string(), name: z.string() });
const saveTemplate = operation(
  "mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { id name } }",
  { saveTemplate: saved },
);
const saveEndpoint = operation(
  "mutation ($input: EndpointInput) { saveEndpoint(input: $input) { id name version } }",
  { saveEndpoint: saved.extend({ version: z.number() }) },
);

const CONTAINER_DISK_GB = 10;

export async function makeTemplate(cli: Cli, name: string, options: TemplateOptions): Promise<void> {
  requireImage(options);
  const service = await openService(cli);
  const defaults = { containerDiskInGb: CONTAINER_DISK_GB, dockerArgs: "", env: [], volumeInGb: 0 };
  const container = await containerOf(service, options);
  const input = { name, isServerless: options.pods !== true, ...defaults, ...container };
  const { saveTemplate: template } = await service.mutate(saveTemplate, { input });
  cli.terminal.json(template);
  cli.terminal.done(`Made template ${name} (${template.id}).`);
}

export async function changeTemplate(cli: Cli, nameOrId: string, options: ContainerOptions): Promise<void> {
  const service = await openService(cli);
  const { id } = chooseRow(templates, await templates.rowsOf(service), nameOrId);
  const input = { id, ...(await containerOf(service, options)) };
  const { saveTemplate: template } = await service.mutateIdempotent(saveTemplate, { input });
  cli.terminal.json(template);
  cli.terminal.done(`Changed template ${template.name}. Workers of its endpoints are replaced.`);
}

export async function makeEndpoint(cli: Cli, name: string, options: EndpointOptions): Promise<void> {
  if (options.template === undefined) requireImage(options);
  const service = await openService(cli);
  if ((await endpoints.rowsOf(service)).some((endpoint) => endpoint.name === name)) {
    throw new Failure(`There is an endpoint '${name}'.`, [`Change it: edgerun endpoint update ${name}`]);
  }
  const { template, ...settings } = await settingsOf(service, options);
  const container = template && { template: { containerDiskInGb: CONTAINER_DISK_GB, ...template } };
  const input = { name, ...settings, ...container };
  const { saveEndpoint: endpoint } = await service.mutate(saveEndpoint, { input });
  cli.terminal.json(endpoint);
  cli.terminal.done(`Made endpoint ${name} (${endpoint.id}).`);
}

export async function changeEndpoint(cli: Cli, nameOrId: string, options: EndpointOptions): Promise<void> {
  const { service, endpoint } = await openEndpoint(cli, nameOrId);
  const input = { id: endpoint.id, ...(await settingsOf(service, options)) };
  const { saveEndpoint: changed } = await service.mutateIdempotent(saveEndpoint, { input });
  cli.terminal.json(changed);
  cli.terminal.done(`Changed endpoint ${changed.name}, which is at v${changed.version}.`);
}

const purgeSchema = z.looseObject({ removed: z.number() });

/** Cancels the jobs that wait; those that run go on. */
export async function purgeEndpoint(cli: Cli, nameOrId: string): Promise<void> {
  const { service, endpoint } = await openEndpoint(cli, nameOrId);
  const isMeant = await cli.terminal.confirm(`Cancel all jobs of ${endpoint.name} that wait?`);
  if (!isMeant) return cli.terminal.say("Nothing was changed.");
  const purged = await service.read(`/v2/${endpoint.id}/purge-queue`, purgeSchema, { method: "POST" });
  cli.terminal.json(purged);
  cli.terminal.done(`Cancelled ${purged.removed} jobs of ${endpoint.name}.`);
}

function requireImage({ image }: ContainerOptions): void {
  if (image !== undefined) return;
  throw new Failure("It needs an image.", ["--image docker.io/me/worker:1"], EXIT_USAGE);
}

/** Members of EndpointInput; what is not given stays as it is. */
async function settingsOf(
  service: Service,
  options: EndpointOptions,
): Promise<Readonly<Record<string, unknown>> & { readonly template?: object }> {
  const container = await containerOf(service, options);
  const templateId = await idOf(service, templates, options.template);
  if (templateId !== undefined && Object.keys(container).length > 0) {
    throw new Failure("--template goes with no option of the container.", [], EXIT_USAGE);
  }
  return {
    ...(Object.keys(container).length > 0 && { template: container }),
    ...given({
      templateId,
      type: options.type,
      gpuIds: options.gpu,
      gpuCount: options.gpus,
      instanceIds: options.cpu === undefined ? undefined : [options.cpu],
      workersMin: options.workersMin,
      workersMax: options.workersMax,
      idleTimeout: options.idleTimeout,
      executionTimeoutMs: options.executionTimeout && options.executionTimeout * 1_000,
      networkVolumeId: await idOf(service, volumes, options.volume),
    }),
  };
}

async function containerOf(service: Service, options: ContainerOptions): Promise<object> {
  const env = Object.entries(options.env).map(([key, value]) => ({ key, value }));
  return given({
    imageName: options.image,
    dockerArgs: options.command,
    containerDiskInGb: options.disk,
    env: env.length > 0 ? env : undefined,
    containerRegistryAuthId: await idOf(service, registries, options.registry),
  });
}

async function idOf<Row extends { readonly id: string }>(
  service: Service,
  noun: Noun<Row>,
  nameOrId: string | undefined,
): Promise<string | undefined> {
  if (nameOrId === undefined) return undefined;
  return chooseRow(noun, await noun.rowsOf(service), nameOrId).id;
}

function given(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
