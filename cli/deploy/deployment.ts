/** Reconciles the endpoints of an environment with a build. */
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import { Failure } from "../../src/std/failure.ts";
import {
  environmentEndpoints,
  type PresentEndpoint,
  removeEndpoint,
  saveEndpoint,
} from "../service/endpoint-operations.ts";
import { buildById, deployBuild, finishDeployment, updateManifest } from "../service/flash-operations.ts";
import type { Service } from "../service/service.ts";
import type { Step } from "../core/terminal.ts";
import { endpointUrl, type Route, routesOf } from "./endpoint-urls.ts";
import { toEndpointInput, toSaveInput } from "./endpoint-input.ts";
import { type Plan, planDeployment, type PlannedEndpoint, type DesiredEndpoint } from "./plan.ts";
import type { Target } from "./target.ts";
import { findVolumes } from "./volumes.ts";

export type DeployedEndpoint = {
  readonly name: string;
  /** Null when it could not be created. */
  readonly id: string | null;
  /** The version that its workers shall run; null when it could not be saved. */
  readonly version: number | null;
  readonly type: "QB" | "LB";
  readonly url: string | null;
  readonly routes: readonly Route[];
  readonly action: "created" | "updated" | "unchanged" | "failed";
  readonly changes: readonly string[];
  /** Why it failed. */
  readonly error?: string;
};

export type RemovedEndpoint = {
  readonly name: string;
  readonly id: string;
  /** False without `--prune`, and when the deletion failed. */
  readonly isDeleted: boolean;
  readonly error?: string;
};

export type Deployment = {
  readonly endpoints: readonly DeployedEndpoint[];
  readonly removed: readonly RemovedEndpoint[];
  readonly hasFailed: boolean;
};

export type DeploymentOrder = {
  readonly target: Target;
  readonly buildId: string;
  readonly manifest: FlashManifest;
  /** Deletes endpoints that are no longer in the app. */
  readonly prunes: boolean;
  /** New versions of endpoints with a queue are tried with this share of the jobs. */
  readonly canaryPercent?: number | undefined;
};

/** Limit of the call after Ctrl+C that reports how the deployment ended. */
const LAST_CALL_LIMIT_MS = 10_000;

export async function deploy(service: Service, order: DeploymentOrder, step: Step): Promise<Deployment> {
  const { target, buildId, manifest, prunes } = order;
  const before = await readEnvironment(service, target);
  const volumes = await findVolumes(service, manifest);
  const desired = desiredEndpoints(manifest, buildId, volumes);
  const plan = planDeployment(desired, before.endpoints, {
    ownVariablesBefore: await ownVariables(service, before.activeBuildId),
  });
  if (!prunes) requireSameTypes(plan.ofOtherType);

  await service.mutateIdempotent(deployBuild, {
    input: { flashEnvironmentId: target.environment.id, flashBuildId: buildId },
  });
  try {
    const deployment = await applyPlan(service, order, plan, step);
    await finish(service, target, deployment.hasFailed);
    return deployment;
  } catch (error) {
    const lastCall = service.withSignal(AbortSignal.timeout(LAST_CALL_LIMIT_MS));
    await finish(lastCall, target, true).catch(() => undefined); // The first error is thrown.
    throw error;
  }
}

async function applyPlan(
  service: Service,
  { target, buildId, manifest, prunes, canaryPercent }: DeploymentOrder,
  plan: Plan,
  step: Step,
): Promise<Deployment> {
  for (const endpoint of plan.ofOtherType) await removeEndpoint(service, endpoint.id);
  let done = 0;
  const endpoints = await Promise.all(
    plan.endpoints.map(async (planned) => {
      const deployed = await save(service, { target, manifest, canaryPercent }, planned);
      done += 1;
      step.update(`${done} of ${plan.endpoints.length} endpoints`);
      return deployed;
    }),
  );
  const removed = await Promise.all(plan.removed.map((endpoint) => remove(service, endpoint, prunes)));
  await publishUrls(service, buildId, manifest, endpoints);
  const hasFailed =
    endpoints.some(({ action }) => action === "failed") || removed.some(({ error }) => error !== undefined);
  return { endpoints, removed, hasFailed };
}

async function finish(service: Service, { environment }: Target, hasFailed: boolean): Promise<void> {
  await service.mutateIdempotent(finishDeployment, {
    input: { flashEnvironmentId: environment.id, state: hasFailed ? "FAILED" : "DEPLOYED" },
  });
}

async function readEnvironment(service: Service, { environment }: Target) {
  const { flashEnvironment } = await service.query(environmentEndpoints, { id: environment.id });
  if (flashEnvironment !== null) return flashEnvironment;
  throw new Failure(`Environment '${environment.name}' was deleted in the meantime.`, [
    "Run the command again.",
  ]);
}

function desiredEndpoints(
  manifest: FlashManifest,
  buildId: string,
  volumes: ReadonlyMap<string, readonly string[]>,
): readonly DesiredEndpoint[] {
  const fingerprint = manifest.source_fingerprint ?? "";
  return Object.entries(manifest.resources).map(([name, resource]) => ({
    input: toEndpointInput(name, resource, { fingerprint, volumeIds: volumes.get(name) ?? [] }),
    buildId: resource.client_mode ? null : buildId,
  }));
}

/** Names of the variables that the app set in its last deployment, by endpoint. */
async function ownVariables(
  service: Service,
  buildId: string | null,
): Promise<Readonly<Record<string, readonly string[]>>> {
  if (buildId === null) return {};
  const { flashBuild } = await service.query(buildById, { id: buildId });
  const resources = Object.entries(flashBuild?.manifest?.resources ?? {});
  return Object.fromEntries(
    resources.map(([name, { env = {}, template }]) => [
      name,
      [...Object.keys(env), ...(template?.env ?? []).map(({ key }) => key)],
    ]),
  );
}

function requireSameTypes(endpoints: readonly PresentEndpoint[]): void {
  const [first] = endpoints;
  if (first === undefined) return;
  const kind = (isLoadBalanced: boolean) => (isLoadBalanced ? "load-balanced" : "queue-based");
  const isLoadBalanced = first.type === "LB";
  throw new Failure(
    `Endpoint '${first.name}' is ${kind(isLoadBalanced)} on the service and ${kind(!isLoadBalanced)} in the app; that cannot be changed.`,
    ["Give it another name, or deploy with --prune, which deletes it with its jobs and creates it again."],
  );
}

async function save(
  service: Service,
  {
    target: { environment },
    manifest,
    canaryPercent,
  }: Pick<DeploymentOrder, "target" | "manifest" | "canaryPercent">,
  planned: PlannedEndpoint,
): Promise<DeployedEndpoint> {
  const { input } = planned;
  const routes = routesOf(manifest, input.name);
  const common = { name: input.name, type: input.type, routes };
  const found = (id: string) => ({ id, url: endpointUrl(service.url, id, input.type === "LB") });
  if (planned.action === "unchanged") {
    return { ...common, ...found(planned.id), version: planned.version, action: "unchanged", changes: [] };
  }
  const changes = planned.action === "update" ? planned.changes : [];
  try {
    const { type, ...settings } = toSaveInput(input);
    const { saveEndpoint: saved } = await service.mutateIdempotent(saveEndpoint, {
      input: {
        ...settings,
        ...(planned.action === "update" ? { id: planned.id } : { type }),
        ...(canaryPercent !== undefined && planned.action === "update" && type === "QB" && { canaryPercent }),
        flashEnvironmentId: environment.id,
      },
    });
    const action = planned.action === "create" ? "created" : "updated";
    return { ...common, ...found(saved.id), version: saved.version, action, changes };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const id = planned.action === "update" ? planned.id : null;
    const place = id === null ? { id, url: null } : found(id);
    return { ...common, ...place, version: null, action: "failed", changes, error: error.message };
  }
}

async function remove(
  service: Service,
  { id, name }: PresentEndpoint,
  prunes: boolean,
): Promise<RemovedEndpoint> {
  if (!prunes) return { id, name, isDeleted: false };
  try {
    await removeEndpoint(service, id);
    return { id, name, isDeleted: true };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { id, name, isDeleted: false, error: error.message };
  }
}

/** Writes the URLs of endpoints to the manifest of the build, where functions find each other. */
async function publishUrls(
  service: Service,
  buildId: string,
  manifest: FlashManifest,
  endpoints: readonly DeployedEndpoint[],
): Promise<void> {
  const resources = { ...manifest.resources };
  const urls: Record<string, string> = {};
  for (const { name, id, url } of endpoints) {
    const resource = resources[name];
    if (id === null || url === null || resource === undefined) continue;
    resources[name] = { ...resource, endpoint_id: id };
    urls[name] = url;
  }
  await service.mutateIdempotent(updateManifest, {
    input: { flashBuildId: buildId, manifest: { ...manifest, resources, resources_endpoints: urls } },
  });
}
