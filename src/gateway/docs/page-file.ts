/** Files of pages. Everything they need comes from the edge itself. */
import type { Context } from "hono";
import type { Env } from "../../env.ts";
import { ServiceError } from "../../contract/errors.ts";

/** Nothing from elsewhere, and no script in the page itself. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The file at this path of the assets. */
export async function pageFile(context: Context<{ Bindings: Env }>, path: string): Promise<Response> {
  const found = await context.env.ASSETS.fetch(new Request(new URL(path, context.req.url), context.req.raw));
  if (found.status === 404) throw new ServiceError("not_found", `There is nothing at ${context.req.path}.`);
  const headers = new Headers(found.headers);
  headers.set("Content-Security-Policy", CONTENT_SECURITY_POLICY);
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("Referrer-Policy", "no-referrer");
  return new Response(found.body, { status: found.status, headers });
}
