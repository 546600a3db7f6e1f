/**
 * Live mode: what `flash dev` sends to workers that run the current code of a developer's computer. Such workers serve
 * endpoints of a session, a flash environment with a lease: without renewal it ends together with its endpoints.
 */
import * as z from "zod";
import { sha256Schema } from "../agent/artifact.ts";

/** Names of live endpoints begin with it; code knows them without. */
export const LIVE_PREFIX = "live-";
export const LIVE_PROTOCOL = 1;

/** "true" in workers of sessions, "source" in those that take calls with source; set by the service alone. */
export const LIVE_VARIABLE = "FLASH_LIVE";

const SOURCE_CALL_IMAGE = /(?:(?:^|\/)flash(?:-lb)?(?:-cpu)?|(?:^|\/)runpod\/queue(?:-gpu)?):py(3\.\d{1,2})-/;

/**
 * Live endpoints of clients that open no session: they name a runtime image such as runpod/flash-lb-cpu:py3.12-latest,
 * and each call brings the source of its function. Gives the version of Python; undefined for any other image.
 */
export function sourceCallPython(imageName: string): string | undefined {
  return SOURCE_CALL_IMAGE.exec(imageName)?.[1];
}
/** Its value opens LIVE_EXECUTE_PATH of load-balanced workers; also set by the service alone. */
export const LIVE_TOKEN_VARIABLE = "FLASH_LIVE_TOKEN";
export const LIVE_TOKEN_HEADER = "X-Flash-Live-Token";
/** Takes a LiveRequest by POST, on load-balanced workers in live mode; answers as the route does. */
export const LIVE_EXECUTE_PATH = "/execute";
/**
 * In an answer of LIVE_EXECUTE_PATH that is not the route's own:
 *
 *   missing-modules  409, `{missing_modules: [sha256…]}`: to be sent again with these in `sources`
 *   refused          the request is malformed, or its token is wrong: `{detail}`
 *   not-loaded       500, the code cannot be loaded: `{detail}`, with file and line
 *   raised           500, the route has raised: `{detail, traceback}`
 */
export const LIVE_OUTCOME_HEADER = "X-Flash-Live";

/**
 * A live worker that was ready ends with this exit code where its process cannot continue with the new code, which
 * needs another version of a package that the process has imported. The worker is restarted at once, and this does not
 * count as a failure. EX_TEMPFAIL.
 */
export const LIVE_RESTART_EXIT_CODE = 75;

/** `error_type` of a job that failed because its worker lacks sources; `missing_modules` beside it names them. */
export const MISSING_MODULES_ERROR = "MissingModules";

const string = z.string();
const strings = z.array(string);

/** What runs, without the texts of its files. */
const codeShape = {
  execution_type: z.enum(["function", "class", "route"]),
  /** Dotted path; of a route's endpoint that of any of its functions. */
  module: string,
  function_name: string.optional(),
  class_name: string.optional(),
  /** Jobs that run at a time. */
  max_concurrency: z.number().int().positive().optional(),
  /** Path from the project, with forward slashes → SHA-256 of the file: all local files that the code needs. */
  modules: z.record(string, sha256Schema),
  /** Requirements, as pip understands them. */
  dependencies: strings,
  /** Debian packages. */
  system_dependencies: strings,
  /** Packages are installed side by side. */
  accelerate_downloads: z.boolean(),
};

/** Another endpoint that the code may call. */
export const livePeerSchema = z.object(codeShape);
export type LivePeer = z.infer<typeof livePeerSchema>;

/** An HTTP request to a route, as the local server was sent it. */
export const liveHttpSchema = z.object({
  method: string,
  path: string,
  /** Without the question mark. */
  query: string,
  headers: z.array(z.tuple([string, string])),
  body_base64: string,
});
export type LiveHttp = z.infer<typeof liveHttpSchema>;

/** Input of a job of a live endpoint, and body of LIVE_EXECUTE_PATH. */
export const liveRequestSchema = z.object({
  protocol: z.literal(LIVE_PROTOCOL),
  ...codeShape,
  /** Present for a class. */
  method_name: string.optional(),
  constructor_args: z.array(z.unknown()).optional(),
  constructor_kwargs: z.record(string, z.unknown()).optional(),
  args: z.array(z.unknown()).optional(),
  kwargs: z.record(string, z.unknown()).optional(),
  /** SHA-256 → text of the file; what the worker has been sent before is left out. */
  sources: z.record(sha256Schema, string),
  /** By endpoint name. */
  peers: z.record(string, livePeerSchema),
  /** Present for a load-balanced endpoint: its routes, and the request for one of them. */
  routes: z
    .array(z.object({ method: string, path: string, module: string, function_name: string }))
    .optional(),
  http: liveHttpSchema.optional(),
});
export type LiveRequest = z.infer<typeof liveRequestSchema>;
