/** The routes that a run may call, with what is documented of their bodies. */
import type { JsonSchema } from "./json.ts";
import type { Route } from "./requests.ts";

/** Where a part of the edge stands, and what makes its routes. */
const PARTS = [
  ["/v1", "rest", "restRoutes"],
  ["/v2", "queue", "queueRoutes"],
  ["/lb", "load-balancing", "loadBalancingRoutes"],
  ["/agent", "agent", "agentRoutes"],
  ["/artifacts", "artifacts", "artifactRoutes"],
] as const;

const OPEN_ROUTES: readonly Route[] = [
  "/",
  "/metrics",
  "/openapi.json",
  "/v1/openapi.json",
  "/docs",
  "/docs/*",
  "/docs/graphql",
  "/flash/login",
].map((path) => ({ method: "GET", path }));

export async function listRoutes(baseUrl: string): Promise<readonly Route[]> {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Document;
  const parts = await Promise.all(
    PARTS.map(async ([base, module, name]) => await routesOf(base, module, name)),
  );
  const routes = parts.flat().map((route) => ({ ...route, ...bodyOf(document, route) }));
  return [...routes, ...OPEN_ROUTES];
}

/** The routes of a part of the edge. Imported by name, for its types are those of another runtime. */
async function routesOf(base: string, module: string, name: string): Promise<readonly Route[]> {
  const part = (await import(`../../../src/gateway/${module}/routes.ts`)) as Record<
    string,
    () => { routes: readonly Route[] }
  >;
  const routes = part[name]?.().routes ?? [];
  return routes
    .filter(({ path }) => path !== "/*")
    .map(({ method, path }) => ({ method, path: base + path }));
}

type Operation = { readonly requestBody?: { readonly content: Readonly<Record<string, Media>> } };
type Media = { readonly schema?: JsonSchema };
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, JsonSchema>> };
};

function bodyOf({ paths, components }: Document, { method, path }: Route): Pick<Route, "bodySchema"> {
  const operation = paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
  const schema = operation?.requestBody?.content["application/json"]?.schema;
  return schema === undefined ? {} : { bodySchema: spelledOut(schema, components?.schemas ?? {}) };
}

/** Puts what a reference refers to in its place; inside of itself it stands for any value. */
function spelledOut<Part>(part: Part, schemas: Readonly<Record<string, JsonSchema>>): Part {
  if (Array.isArray(part)) return part.map((element) => spelledOut<unknown>(element, schemas)) as Part;
  if (typeof part !== "object" || part === null) return part;
  const name = "$ref" in part ? String(part.$ref).split("/").at(-1) : undefined;
  if (name !== undefined) return spelledOut(schemas[name], { ...schemas, [name]: {} }) as Part;
  return Object.fromEntries(
    Object.entries(part).map(([member, value]) => [member, spelledOut<unknown>(value, schemas)]),
  ) as Part;
}
