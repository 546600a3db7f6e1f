/** The manifest of clients that list the resources of an app, and how it reads in the form that is stored. */
import * as z from "zod";
import type { FlashManifest, ManifestResource } from "./flash-manifest.ts";

const string = z.string();

/** A task has no endpoint: it runs in a pod of its own. */
const kindSchema = z.enum(["queue", "api", "task"]);

const listedResourceSchema = z.looseObject({
  kind: kindSchema,
  name: string,
  /** Where the decorated function or class is; absent for an endpoint with an image of the user's own. */
  module: string.optional(),
  qualname: string.optional(),
  maxConcurrency: z.number().int().positive().optional(),
  routes: z.array(z.looseObject({ method: string, path: string, handler: string })).optional(),
});
type ListedResource = z.infer<typeof listedResourceSchema>;

export const listedManifestSchema = z.looseObject({
  version: z.number().int(),
  app: string.optional(),
  pythonVersion: string.optional(),
  excludedPackages: z.array(string).optional(),
  resources: z.array(listedResourceSchema).superRefine((resources, context) => {
    const names = new Set<string>();
    const twice = resources.find(({ name }) => names.size === names.add(name).size);
    if (twice) context.addIssue(`two resources have the name '${twice.name}'`);
  }),
});

/** What has no word in the stored form keeps its own. */
export function readListedManifest(listed: z.infer<typeof listedManifestSchema>): FlashManifest {
  const { version, app, pythonVersion, excludedPackages, resources, ...rest } = listed;
  const routes = resources.flatMap(({ name, routes: own }) =>
    own
      ? [[name, Object.fromEntries(own.map((route) => [`${route.method} ${route.path}`, route.handler]))]]
      : [],
  );
  return {
    ...rest,
    version: String(version),
    ...(app !== undefined && { project_name: app }),
    ...(pythonVersion !== undefined && { python_version: pythonVersion }),
    ...(excludedPackages && { excluded_packages: excludedPackages }),
    resources: Object.fromEntries(resources.map((resource) => [resource.name, readResource(resource)])),
    ...(routes.length > 0 && { routes: Object.fromEntries(routes) }),
  };
}

/** Names of the endpoints that a manifest of this origin leads to; undefined for one of another origin. */
export function listedEndpoints({ resources }: FlashManifest): readonly string[] | undefined {
  const kinds = Object.entries(resources).map(([name, { resource_type: type }]) => ({
    name,
    kind: kindSchema.safeParse(type).data,
  }));
  if (kinds.length === 0 || kinds.some(({ kind }) => kind === undefined)) return undefined;
  return kinds.filter(({ kind }) => kind !== "task").map(({ name }) => name);
}

function readResource({
  kind,
  name: _,
  module,
  qualname,
  maxConcurrency,
  routes: __,
  ...rest
}: ListedResource) {
  const isNamed = module !== undefined && qualname !== undefined;
  return {
    ...(rest as Partial<ManifestResource>),
    resource_type: kind,
    is_load_balanced: kind === "api",
    // Its client gives the workers a key in their variables.
    makes_remote_calls: false,
    functions: isNamed ? [{ name: qualname, module }] : [],
    ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
  };
}
