/** URLs of deployed endpoints, and example calls. */
import type { FlashManifest, ManifestResource } from "../../src/contract/flash/flash-manifest.ts";
import { exampleArguments } from "../manifest/example-arguments.ts";
import * as z from "zod";
import { isLoopback } from "../service/service-url.ts";
import { Failure } from "../../src/std/failure.ts";
import type { Service } from "../service/service.ts";

/** The base URL of a deployed endpoint, for its routes or its queue operations. */
export function endpointUrl(serviceUrl: string, id: string, isLoadBalanced: boolean): string {
  return isLoadBalanced ? `${serviceUrl}/lb/${id}` : `${serviceUrl}/v2/${id}`;
}

export type Route = { readonly method: string; readonly path: string; readonly function: string };

/** The routes of a load-balanced endpoint, in the order of their declaration. */
export function routesOf(manifest: FlashManifest, endpoint: string): readonly Route[] {
  return Object.entries(manifest.routes?.[endpoint] ?? {}).map(([route, name]) => {
    const [method = "", path = ""] = route.split(" ");
    return { method, path, function: name };
  });
}

/**
 * Shell commands, one for a queue and one for each route. Calls of the service carry the key; calls of this computer
 * need none.
 */
export function exampleCalls(
  manifest: FlashManifest,
  endpoint: string,
  url: string,
  where: "service" | "local" = "service",
): readonly string[] {
  const headers = where === "local" ? [] : [`  -H "Authorization: Bearer $(flash auth token)"`];
  const resource = manifest.resources[endpoint];
  if (resource === undefined) return [];
  if (!resource.is_load_balanced) {
    return [curl("POST", `${url}/runsync`, headers, { input: exampleInput(resource) })];
  }
  return routesOf(manifest, endpoint).map(({ method, path, function: name }) => {
    const declared = resource.functions.find((one) => one.name === name);
    const { inPath, rest } = splitPath(path, exampleArguments(declared?.parameters ?? []));
    const isInQuery = method === "GET" || method === "DELETE";
    const query = isInQuery ? queryOf(rest) : "";
    return curl(method, `${url}${inPath}${query}`, headers, isInQuery ? undefined : rest);
  });
}

function exampleInput({ functions: [first] }: ManifestResource): Readonly<Record<string, unknown>> {
  if (first === undefined) return {};
  const [method = "", ...others] = first.class_methods ?? [];
  return {
    ...(others.length > 0 && { method }),
    ...exampleArguments(first.method_parameters?.[method] ?? first.parameters ?? []),
  };
}

/** `{name}`, or `{name:type}`. */
const PATH_PARAMETER = /\{([^{}:]+)(?::[^{}]*)?\}/g;

/** Fills the parameters of a path; `rest` are the other arguments. */
function splitPath(path: string, example: Readonly<Record<string, unknown>>) {
  const names = [...path.matchAll(PATH_PARAMETER)].map(([, name = ""]) => name);
  const inPath = path.replaceAll(PATH_PARAMETER, (_, name: string) =>
    encodeURIComponent(stringOf(example[name] ?? name)),
  );
  const rest = Object.fromEntries(Object.entries(example).filter(([name]) => !names.includes(name)));
  return { inPath, rest };
}

function queryOf(values: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(values).map(([name, value]): [string, string] => [name, stringOf(value)]);
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries).toString()}`;
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function curl(method: string, url: string, headers: readonly string[], body: unknown): string {
  return [
    `curl -X ${method} ${shellQuoted(url)}`,
    ...headers,
    ...(body === undefined
      ? []
      : [`  -H "Content-Type: application/json"`, `  -d ${shellQuoted(JSON.stringify(body))}`]),
  ].join(" \\\n");
}

/** Quotes an argument for a POSIX shell. */
function shellQuoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

/** The document at the root of the service; earlier versions have no `directHosts`. */
const serviceSchema = z.object({ directHosts: z.array(z.string()).optional() });

/** The URL of a load-balanced endpoint's own host, such as `https://<id>.lb.example.com`, by its id; undefined where the service has none. */
export async function ownHostOf(service: Service): Promise<((id: string) => string) | undefined> {
  const { directHosts = [] } = await service
    .read("/", serviceSchema)
    .catch((error: unknown): z.infer<typeof serviceSchema> => {
      if (error instanceof Failure) return {}; // the URL by path works
      throw error;
    });
  const { protocol, port } = new URL(service.url);
  const suffix = directHosts.find((host) => isOfThisComputer(host) === isLoopback(service.url));
  return suffix === undefined
    ? undefined
    : (id) => `${protocol}//${id}.${suffix}${port === "" ? "" : `:${port}`}`;
}

function isOfThisComputer(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}
