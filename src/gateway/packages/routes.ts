/**
 * The packages of this edge: the Python package and the `flash` command, each of the edge's own version.
 *
 * Their names are not registered in public registries, so no client may look them up there: this route serves URLs and
 * hashes, and `/packages/simple/` is a package index (PEP 503 and 691) with this one project.
 */
import { accepts } from "hono/accepts";
import { type Context, Hono } from "hono";
import {
  type PackageIndex,
  PACKAGE_INDEX_FILE,
  PACKAGE_NAME,
  packageIndexSchema,
  PACKAGES_PATH,
} from "../../contract/flash/packages.ts";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";
import { pageFile } from "../page-file.ts";
import {
  indexPage,
  packageSummary,
  projectPage,
  requirementsText,
  SIMPLE_JSON,
  simpleJson,
} from "./pages.ts";

type PackageContext = Context<{ Bindings: Env }>;

const MEDIA_TYPES = [SIMPLE_JSON, "text/html"];
const FRESH = { "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff" };

/** Routes to be mounted at /packages. */
export function packageRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  routes.get("/", async (context) =>
    context.json(packageSummary(await readIndex(context), originOf(context)), 200, FRESH),
  );
  routes.get("/requirements.txt", async (context) =>
    context.text(requirementsText(await readIndex(context), originOf(context)), 200, FRESH),
  );
  // Clients send a slash at the end, which routing ignores.
  routes.get("/simple", (context) => simple(context, indexPage, { projects: [{ name: PACKAGE_NAME }] }));
  routes.get(`/simple/${PACKAGE_NAME}`, async (context) => {
    const index = await readIndex(context);
    return simple(context, () => projectPage(index), simpleJson(index));
  });
  routes.get("/:file", async (context) => {
    const { python, npm } = await readIndex(context);
    const { file } = context.req.param();
    if (file !== python.file && file !== npm.file) throw notFound(context.req.path);
    return await pageFile(context, context.req.path);
  });
  return routes;
}

function simple(context: PackageContext, page: () => string, members: object): Response {
  const headers = { ...FRESH, Vary: "Accept" };
  const type = accepts(context, { header: "Accept", supports: MEDIA_TYPES, default: "text/html" });
  if (type === "text/html") return context.html(page(), 200, headers);
  const body = JSON.stringify({ meta: { "api-version": "1.1" }, ...members });
  return context.body(body, 200, { ...headers, "Content-Type": SIMPLE_JSON });
}

async function readIndex(context: PackageContext): Promise<PackageIndex> {
  const url = new URL(`${PACKAGES_PATH}/${PACKAGE_INDEX_FILE}`, context.req.url);
  const found = await context.env.ASSETS.fetch(url);
  if (found.status === 404) throw notFound(context.req.path);
  return packageIndexSchema.parse(await found.json());
}

function notFound(path: string): ServiceError {
  return new ServiceError(
    "not_found",
    `There is nothing at ${path}. ${PACKAGES_PATH} names the packages of this edge; one that \`flash dev --local\` runs has none.`,
  );
}

function originOf(context: PackageContext): string {
  return new URL(context.req.url).origin;
}
