/** The management API over HTTP: one POST route, and JSON whatever happens. */
import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { readCredential } from "../auth/credential.ts";
import { authenticateAny } from "../auth/environment-principal.ts";
import { ANONYMOUS, type Principal } from "../auth/principal.ts";
import { CONTROL_BODY_MAX_BYTES } from "../contract/limits.ts";
import { openDatabase } from "../db/database.ts";
import type { Env } from "../env.ts";
import { missingKey } from "./admission.ts";
import { answerRequest, errorAnswer, refuse, type GraphqlAnswer } from "./execution.ts";
import { logFailure } from "../failure-log.ts";
import { createLoaders } from "./loaders.ts";
import { readRequest } from "./request.ts";

type GraphqlEnv = { Bindings: Env; Variables: { principal: Principal; now: number } };

/** Routes to be mounted at /graphql. */
export function graphqlRoutes(): Hono<GraphqlEnv> {
  const routes = new Hono<GraphqlEnv>();

  // People who look at the address in a browser are shown what there is.
  routes.get("/", async (context, next) => {
    context.header("Vary", "Accept");
    return asksForPage(context) ? context.redirect("/docs/graphql") : await next();
  });

  routes.use(async function requirePrincipal(context, next) {
    const now = Date.now();
    const credential =
      readCredential(context.req.header("authorization")) ?? readCredential(context.req.query("api_key"));
    // What may be asked without a key is seen in the document; a wrong key opens nothing.
    const principal =
      credential === undefined ? ANONYMOUS : await authenticateAny(context.env, credential, now);
    if (principal.kind === "unauthorized") {
      return send(context, errorAnswer(401, "UNAUTHORIZED", principal.message));
    }
    context.set("principal", principal);
    context.set("now", now);
    return await next();
  });

  routes.post(
    "/",
    bodyLimit({ maxSize: CONTROL_BODY_MAX_BYTES, onError: refuseLargeBody }),
    async (context) => {
      const reading = readRequest(await context.req.text());
      const { env, var: known } = context;
      if (reading.kind === "unreadable") {
        if (known.principal === ANONYMOUS) return send(context, refuse(missingKey()));
        return send(context, errorAnswer(400, "BAD_REQUEST", reading.message));
      }
      const request = {
        env,
        ...known,
        db: openDatabase(env.DB),
        operation: "query",
        origin: originOf(context),
        ...clientOf(context),
      };
      return send(
        context,
        await answerRequest(reading.request, { ...request, loaders: createLoaders(request) }),
      );
    },
  );

  routes.all("/", (context) => {
    context.header("Allow", "POST");
    return send(context, errorAnswer(405, "METHOD_NOT_ALLOWED", "Send the GraphQL document by POST."));
  });

  routes.onError((error, context) => {
    logFailure("graphql_operation_failed", { path: "" }, error);
    return send(context, errorAnswer(500, "INTERNAL", "Internal server error. Please try again later."));
  });

  return routes;
}

function originOf(context: Context): string {
  return new URL(context.req.url).origin;
}

/** What is known of whoever asks, beside the key. */
function clientOf({ req }: Context) {
  return { userAgent: req.header("User-Agent") ?? "", clientAddress: req.header("CF-Connecting-IP") };
}

/** Browsers name HTML first; other clients name JSON, anything, or nothing. */
function asksForPage(context: Context): boolean {
  return /^text\/html\b/i.test(context.req.header("Accept") ?? "");
}

function refuseLargeBody(context: Context): Response {
  const message = `The body is larger than ${CONTROL_BODY_MAX_BYTES} bytes.`;
  return send(context, errorAnswer(413, "PAYLOAD_TOO_LARGE", message));
}

/** Nobody between keeps an answer or takes it for anything but JSON; pages of other origins cannot read it. */
function send(context: Context, answer: GraphqlAnswer): Response {
  context.header("Cache-Control", "no-store");
  context.header("X-Content-Type-Options", "nosniff");
  return context.json(answer.body, answer.status);
}
