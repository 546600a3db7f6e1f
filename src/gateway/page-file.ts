/** Files of pages, with what a browser may do with them. */
import type { Context } from "hono";
import { ServiceError } from "../contract/errors.ts";
import type { Env } from "../env.ts";

/** Allows only resources of the edge, and no inline code; what a page of its own needs more is added. */
const CONTENT_SECURITY_POLICY = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "img-src": "'self' data:",
  "media-src": "'none'",
  "font-src": "'self'",
  "connect-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

type Policy = Partial<Record<keyof typeof CONTENT_SECURITY_POLICY, string>>;

/** Serves a file of the assets. */
export async function pageFile(
  context: Context<{ Bindings: Env }>,
  path: string,
  policy: Policy = {},
): Promise<Response> {
  const found = await context.env.ASSETS.fetch(new Request(new URL(path, context.req.url), context.req.raw));
  if (found.status === 404) throw new ServiceError("not_found", `There is nothing at ${context.req.path}.`);
  const headers = new Headers(found.headers);
  headers.set("Content-Security-Policy", written({ ...CONTENT_SECURITY_POLICY, ...policy }));
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("Referrer-Policy", "no-referrer");
  return new Response(found.body, { status: found.status, headers });
}

function written(policy: Policy): string {
  return Object.entries(policy)
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join("; ");
}
