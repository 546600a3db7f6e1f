/** The management API over HTTP: one POST route, and every answer is JSON. */
import { Hono, type Context } from "hono";
import { readCredential } from "../auth/credential.ts";
import { authenticateAny } from "../auth/environment-principal.ts";
import { ANONYMOUS, callerName, type Principal } from "../auth/principal.ts";
import { hasErrorCode } from "../contract/errors.ts";
import { countRequest, networkOf } from "../auth/request-rates.ts";
import { CONTROL_BODY_MAX_BYTES } from "../contract/limits.ts";
import { discardBody, BROKEN_BODY, readWithin } from "../durable/request-body.ts";
import type { Env } from "../env.ts";
import { missingKey } from "./authorization.ts";
import { answerRequest, errorAnswer, unauthorizedAnswer, type GraphqlAnswer } from "./execution.ts";
import { logFailure } from "../management/failure-log.ts";
import { openContext } from "../management/context.ts";
import { createLoaders } from "../management/loaders.ts";
import { readRequest } from "./request.ts";

/** A GraphQL request without a key: many times what the catalog and the login need. */
const GRAPHQL_OPEN_BODY_MAX_BYTES = 16 * 1024;

type GraphqlEnv = { Bindings: Env; Variables: { principal: Principal; now: number } };

/** Routes to be mounted at /graphql. */
export function graphqlRoutes(): Hono<GraphqlEnv> {
  const routes = new Hono<GraphqlEnv>();

  // A browser is sent to the documentation of the schema.
  routes.get("/", async (context, next) => {
    context.header("Vary", "Accept");
    return acceptsHtml(context) ? context.redirect("/docs/graphql") : await next();
  });

  routes.use(async function requirePrincipal(context, next) {
    const now = Date.now();
    const credential =
      readCredential(context.req.header("authorization")) ?? readCredential(context.req.query("api_key"));
    // The document decides whether a key is needed; a wrong key opens nothing.
    const network = networkOf(context.env, context.req.raw);
    const principal =
      credential === undefined ? ANONYMOUS : await authenticateAny(context.env, credential, now, network);
    if (principal.kind === "unauthorized") {
      return await send(context, errorAnswer(401, "unauthorized", principal.message));
    }
    if (principal !== ANONYMOUS) await countRequest(context.env, "management", callerName(principal), now);
    else if (network !== undefined) await countRequest(context.env, "keyless", network, now);
    context.set("principal", principal);
    context.set("now", now);
    return await next();
  });

  routes.post("/", answerDocument);

  routes.all("/", async (context) => {
    context.header("Allow", "POST");
    return await send(context, errorAnswer(405, "method_not_allowed", "Send the GraphQL document by POST."));
  });

  // Not left to the routes above, whose error would pass through `onError`.
  routes.all("*", async (context) => {
    const message = `There is nothing at ${context.req.path}. Send the GraphQL document by POST to /graphql.`;
    return await send(context, errorAnswer(404, "not_found", message));
  });

  routes.onError(async (error, context) => {
    if (hasErrorCode(error, "rate_limited")) {
      context.header("Retry-After", `${error.details.retryAfterSeconds}`);
      return await send(context, errorAnswer(429, error.code, error.message));
    }
    logFailure("graphql_operation_failed", { path: "" }, error);
    return await send(
      context,
      errorAnswer(500, "internal", "Internal server error. Please try again later."),
    );
  });

  return routes;
}

async function answerDocument(context: Context<GraphqlEnv>): Promise<Response> {
  const { env, var: caller } = context;
  const isOpen = caller.principal === ANONYMOUS;
  // Documents that need no key are short; a longer one is not parsed.
  const maxBytes = isOpen ? GRAPHQL_OPEN_BODY_MAX_BYTES : CONTROL_BODY_MAX_BYTES;
  const body = await readWithin(context.req.raw, maxBytes);
  if (body.kind === "broken") return await send(context, errorAnswer(400, "bad_request", BROKEN_BODY));
  if (body.kind === "large") {
    return await (isOpen ? send(context, unauthorizedAnswer(missingKey())) : rejectLargeBody(context));
  }
  const reading = readRequest(new TextDecoder().decode(body.bytes));
  if (reading.kind === "unreadable") {
    if (isOpen) return await send(context, unauthorizedAnswer(missingKey()));
    return await send(context, errorAnswer(400, "bad_request", reading.message));
  }
  const request = openContext(env, {
    ...caller,
    operation: "query",
    origin: new URL(context.req.url).origin,
    userAgent: context.req.header("User-Agent") ?? "",
  });
  const loaders = createLoaders(request);
  return await send(context, await answerRequest(reading.request, { ...request, loaders }));
}

/** Browsers name HTML first; other clients name JSON, anything, or nothing. */
function acceptsHtml(context: Context): boolean {
  return /^text\/html\b/i.test(context.req.header("Accept") ?? "");
}

async function rejectLargeBody(context: Context): Promise<Response> {
  const message = `The body is larger than ${CONTROL_BODY_MAX_BYTES / 1_000_000} MB. Send less.`;
  return await send(context, errorAnswer(413, "payload_too_large", message));
}

/** Answers are not cached and never taken for anything but JSON; pages of other origins cannot read them. */
async function send(context: Context, answer: GraphqlAnswer): Promise<Response> {
  await discardBody(context.req.raw);
  context.header("Cache-Control", "no-store");
  context.header("X-Content-Type-Options", "nosniff");
  return context.json(answer.body, answer.status);
}
