/** The console: its pages, and signing in. */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { authenticate, type Principal } from "../../auth/principal.ts";
import { countFailure, countRequest, networkOf, refuseExhausted } from "../../auth/request-rates.ts";
import { ServiceError } from "../../contract/errors.ts";
import { stringSchema } from "../../contract/rest/rest.ts";
import type { Env } from "../../env.ts";
import {
  endSignIn,
  signInWithKey,
  signInWithLink,
  type IssuedSignIn,
} from "../../management/accounts/sign-ins.ts";
import { openContext, type RequestContext } from "../../management/context.ts";
import { readBody } from "../body.ts";
import { isOfConsole, signInCookie } from "./cookie.ts";
import { consoleAsset } from "./pages.ts";

type ConsoleContext = Context<{ Bindings: Env }>;

const BODY_MAX_BYTES = 4_096;

const signInSchema = z.union([
  z.object({ key: stringSchema.min(1) }),
  z.object({ link: stringSchema.min(1) }),
]);

const USED_LINK =
  "This link was used already or has expired. Sign in with an API key, or make another link (createSignInLink).";

/** Routes to be mounted at /console. */
export function consoleRoutes(): Hono<{ Bindings: Env }> {
  const routes = new Hono<{ Bindings: Env }>();
  routes.get("/assets/*", consoleAsset);
  // Both change what a browser may do, so they are for pages of the console alone.
  routes.use(async function requireConsole({ req, header }, next) {
    header("Cache-Control", "no-store");
    if (!isOfConsole(req.raw)) {
      throw new ServiceError("invalid_input", "Only pages of the console sign in and out.");
    }
    await next();
  });
  routes.post("/sign-in", signIn);
  routes.post("/sign-out", signOut);
  return routes;
}

async function signIn(context: ConsoleContext): Promise<Response> {
  const given = await readBody(context.req.raw, signInSchema, BODY_MAX_BYTES);
  const now = Date.now();
  const issued =
    "link" in given ? await follow(context, given.link, now) : await show(context, given.key, now);
  const seconds = Math.floor((issued.expiresAt - now) / 1_000);
  context.header("Set-Cookie", signInCookie(context.req.url, issued.token, seconds));
  return context.json({ expiresAt: new Date(issued.expiresAt).toISOString() });
}

async function show(context: ConsoleContext, key: string, now: number): Promise<IssuedSignIn> {
  const principal = await requirePrincipal(context, key, now);
  // The token of a sign-in is no key that somebody could have typed.
  if (principal.signInId !== undefined)
    throw new ServiceError("unauthorized", "Unauthorized: send an API key.");
  return await signInWithKey(requestOf(context, principal, now));
}

/** Wrong links count as wrong keys do. */
async function follow(context: ConsoleContext, link: string, now: number): Promise<IssuedSignIn> {
  const network = networkOf(context.env, context.req.raw);
  if (network !== undefined) refuseExhausted("credentials", network, now);
  const userAgent = context.req.header("User-Agent") ?? "";
  const issued = await signInWithLink(context.env, link, { userAgent, now });
  if (issued !== undefined) return issued;
  if (network !== undefined) await countFailure(context.env, "credentials", network, now);
  throw new ServiceError("unauthorized", USED_LINK);
}

/** Ends the sign-in of the browser, whatever its key may do otherwise. */
async function signOut(context: ConsoleContext): Promise<Response> {
  const now = Date.now();
  const principal = await requirePrincipal(context, context.req.header("Authorization"), now);
  const { signInId } = principal;
  if (signInId !== undefined) await endSignIn(requestOf(context, principal, now), { id: signInId });
  context.header("Set-Cookie", signInCookie(context.req.url, "", 0));
  return context.body(null, 204);
}

async function requirePrincipal(
  { env, req }: ConsoleContext,
  credential: string | undefined,
  now: number,
): Promise<Principal> {
  const principal = await authenticate(env, credential, now, networkOf(env, req.raw));
  if (principal.kind === "unauthorized") throw new ServiceError("unauthorized", principal.message);
  await countRequest(env, "management", principal.apiKeyId, now);
  return principal;
}

function requestOf({ env, req }: ConsoleContext, principal: Principal, now: number): RequestContext {
  const operation = `${req.method} ${req.path}`;
  const userAgent = req.header("User-Agent") ?? "";
  return openContext(env, { principal, now, operation, origin: new URL(req.url).origin, userAgent });
}
