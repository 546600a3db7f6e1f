/** `edgerun call`: a deployed function, with its arguments as options that follow from its signature. */
import { readFile } from "node:fs/promises";
import { EXIT_USAGE, Failure } from "../../src/std/failure.ts";
import { parseJson } from "../../src/std/json.ts";
import type {
  ManifestFunction,
  ManifestParameter,
  ManifestResource,
} from "../../src/contract/flash/flash-manifest.ts";
import type { Cli } from "../core/cli.ts";
import { namesNear } from "../core/near-names.ts";
import { checkedJob } from "../server/requests/queue-input.ts";
import { RequestError } from "../server/requests/responses.ts";
import { buildById } from "../service/flash-operations.ts";
import { openEndpoint, type OpenedEndpoint } from "./endpoints.ts";
import { submitJob } from "./jobs.ts";

export type CallOptions = { readonly wait: boolean; readonly file?: string };

/** `given` are the options behind the name, such as --name Ada. */
export async function callFunction(
  cli: Cli,
  nameOrId: string,
  { given, ...options }: CallOptions & { readonly given: readonly string[] },
): Promise<void> {
  const opened = await openEndpoint(cli, nameOrId);
  if (opened.endpoint.type === "LB") {
    throw new Failure(`Endpoint ${nameOrId} serves requests, not jobs.`, [
      `Call its routes over HTTP: ${opened.service.url}/lb/${opened.endpoint.id}/`,
    ]);
  }
  const resource = await resourceOf(opened);
  const value = await argumentsOf(resource?.functions[0], given);
  if (resource !== undefined) checkArguments(resource, value);
  await submitJob(cli, opened, { value, ...options });
}

/** Undefined for an endpoint with an image of one's own, of which no signature is known. */
async function resourceOf({ service, endpoint }: OpenedEndpoint): Promise<ManifestResource | undefined> {
  if (!endpoint.activeBuildid) return undefined;
  const { flashBuild } = await service.query(buildById, { id: endpoint.activeBuildid });
  return flashBuild?.manifest?.resources[endpoint.name];
}

function checkArguments(resource: ManifestResource, value: unknown): void {
  try {
    checkedJob(resource, { input: JSON.stringify(value), options: "{}" });
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const { detail } = error;
    const lines =
      typeof detail === "string" ? [detail] : detail.map(({ loc, msg }) => `--${loc.at(-1)}: ${msg}`);
    throw new Failure("The arguments do not fit the function.", lines, EXIT_USAGE);
  }
}

/** `--name value`, `--name=value`, and for a bool `--name` or `--no-name`. Throws a Failure that names near arguments. */
async function argumentsOf(
  declared: ManifestFunction | undefined,
  given: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const parameters = parametersOf(declared, given);
  const values: Record<string, unknown> = {};
  for (let at = 0; at < given.length; at += 1) {
    const [, name = "", , inline] = /^--([^=]+)(=(.*))?$/s.exec(given[at] ?? "") ?? [];
    if (name === "") throw usage(`'${given[at]}' is no argument such as --name value.`);
    const { parameter, isNegated } = parameterOf(parameters, name);
    const isFlag =
      isNegated || (parameter !== undefined && typeOf(parameter) === "bool" && inline === undefined);
    const written = isFlag ? String(!isNegated) : (inline ?? given[(at += 1)]);
    if (written === undefined) throw usage(`--${name} needs a value.`);
    values[parameter?.name ?? name] = await valueOf(parameter, { name, written });
  }
  return values;
}

/** Of the method that --method names, where a class has several. */
function parametersOf(
  declared: ManifestFunction | undefined,
  given: readonly string[],
): readonly ManifestParameter[] | undefined {
  const named = given[given.indexOf("--method") + 1];
  const parameters = declared?.method_parameters?.[named ?? ""] ?? declared?.parameters;
  return parameters?.some(({ kind }) => kind === "var_keyword") ? undefined : parameters;
}

function parameterOf(parameters: readonly ManifestParameter[] | undefined, name: string) {
  const find = (wanted: string) =>
    parameters?.find((parameter) => parameter.name.replaceAll("_", "-") === wanted.replaceAll("_", "-"));
  const negated = name.startsWith("no-") ? find(name.slice("no-".length)) : undefined;
  const parameter = find(name);
  if (parameter === undefined && negated !== undefined) return { parameter: negated, isNegated: true };
  if (parameter !== undefined || parameters === undefined || name === "method") {
    return { parameter, isNegated: false };
  }
  const names = parameters.map((one) => one.name);
  const [near] = namesNear(name, names);
  throw usage(
    `The function has no argument '${name}'.`,
    near === undefined ? `It takes ${names.join(", ") || "none"}.` : `Did you mean --${near}?`,
  );
}

/** A text as it is where the function takes one; else JSON. @file reads a file. */
async function valueOf(
  parameter: ManifestParameter | undefined,
  { name, written }: { readonly name: string; readonly written: string },
): Promise<unknown> {
  const text = written.startsWith("@") ? await readArgument(name, written.slice(1)) : written;
  const type = parameter && typeOf(parameter);
  if (type === "str") return text;
  const value = parseJson(text);
  if (value !== undefined) return value;
  if (type === undefined || type === "") return text;
  throw usage(`--${name} must be of type ${parameter?.annotation}, written as JSON.`);
}

async function readArgument(name: string, path: string): Promise<string> {
  return await readFile(path, "utf8").catch((error: unknown) => {
    throw new Failure(`The file of --${name} cannot be read: ${(error as Error).message}`);
  });
}

const JSON_TYPES = new Set(["int", "float", "bool", "list", "dict"]);

/** A type whose values are written in one way alone; "" for all others. */
function typeOf({ annotation }: ManifestParameter): string {
  const [type = ""] = (annotation ?? "")
    .replaceAll(/["'\s]/g, "")
    .replace(/\|None$/, "")
    .split("[");
  return type === "str" || JSON_TYPES.has(type) ? type : "";
}

function usage(message: string, ...advice: readonly string[]): Failure {
  return new Failure(message, advice, EXIT_USAGE);
}
