/**
 * An operation stands in one place: its route, its guards and its part of the OpenAPI document come from the same entry
 * of a table.
 */
import type { Env, Handler, Hono, MiddlewareHandler } from "hono";
import type * as z from "zod";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import type { ErrorStatus } from "../contract/errors.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type OnRequest = `${Method} /${string}`;

/** What the OpenAPI document says of an operation. */
export type Operation = {
  /** Method and path below the prefix of its API, with parameters in braces: `GET /templates/{templateId}`. */
  readonly on: OnRequest;
  /** Unique in the document; generated clients name their methods by it. */
  readonly id: string;
  readonly summary: string;
  readonly details?: string;
  /** Parameters of the path that are more than a string. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly example?: unknown;
  /** Schema of the successful answer; absent for one without a body. */
  readonly answer?: z.ZodType;
  /** The success is a stream of server-sent events, or may be one in place of `answer`. */
  readonly hasEvents?: true;
  readonly status?: 200 | 201 | 204;
  readonly answerHeaders?: z.ZodObject;
  /** Beside those of all operations of its API. */
  readonly errors?: readonly ErrorStatus[];
  readonly credential?: Credential;
  /** Bodies that are not JSON; they replace what follows from `body` and `answer`. */
  readonly requestBody?: ZodOpenApiOperationObject["requestBody"];
  readonly responses?: ZodOpenApiOperationObject["responses"];
};

export type Credential = "none" | "hostToken";

export type Route<Api extends Env> = Operation & { readonly serve: Handler<Api> };

type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

/** What an operation reads of a request: parameters of the path, query and body. */
export type Call<Path extends string, Query, Body> = {
  readonly params: Readonly<Record<ParameterOf<Path>, string>>;
  readonly query: z.output<Query>;
  readonly body: z.output<Body>;
};

/** The operations of an API, and what they have in common. */
export type Api = {
  /** Where it is mounted: `/v1`. */
  readonly prefix: string;
  readonly operations: readonly Operation[];
  readonly errorBody: z.ZodType;
  /** Media type of errors; absent: application/json. */
  readonly errorType?: string;
  readonly errors: readonly ErrorStatus[];
  readonly tag: string;
  /** Parameters of paths, by name; those of an operation win. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  /** Absent: an API key. */
  readonly credential?: Credential;
};

/** Adds the routes in their order, each behind its guards. */
export function mount<E extends Env, Entry extends Route<E>>(
  app: Hono<E>,
  routes: readonly Entry[],
  guardsOf: (route: Entry) => readonly MiddlewareHandler<E>[] = () => [],
): void {
  for (const route of routes) {
    const { method, path } = splitRequest(route.on);
    // The router writes parameters as :name.
    app.on(method, [path.replaceAll(/\{(\w+)\}/g, ":$1")], ...guardsOf(route), route.serve);
  }
}

export function splitRequest(on: OnRequest): { readonly method: string; readonly path: string } {
  const [method = "", path = ""] = on.split(" ");
  return { method, path };
}

/** The operation, and the same by POST, below its path with `suffix`, for clients that use no other method. */
export function withPost<Entry extends Operation>(route: Entry, suffix = ""): readonly [Entry, Entry] {
  const { on, id, summary } = route;
  const { path } = splitRequest(on);
  const same = { on: `POST ${path}${suffix}`, id: `${id}ByPost`, summary: `${summary} (the same)` };
  return [route, { ...route, ...same }];
}
