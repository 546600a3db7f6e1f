/** Routes of load-balanced endpoints in the OpenAPI document. */
import type { ManifestFunction, ManifestParameter } from "../../../src/contract/flash/flash-manifest.ts";
import { exampleArguments } from "../../manifest/example-arguments.ts";
import {
  isBinary,
  type Schema,
  argumentsSchema,
  jsonContent,
  namedParameters,
  UNAVAILABLE,
  operationId,
  parameterSchema,
  type Paths,
  INVALID_ARGUMENTS,
} from "./schemas.ts";
import type { ServedEndpoint } from "../requests/served-app.ts";

/** Methods whose arguments are in the query. */
const OF_QUERY = ["get", "delete", "head"];

export function routePaths({ name, resource }: ServedEndpoint): Paths {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const declared of resource.functions) {
    const { http_method: method, http_path: path } = declared;
    if (!method || !path) continue;
    const fullPath = `/${name}${path}`;
    paths[fullPath] = {
      ...paths[fullPath],
      [method.toLowerCase()]: routeOperation(name, method, path, declared),
    };
  }
  return paths;
}

function routeOperation(name: string, method: string, path: string, declared: ManifestFunction): object {
  const parameters = namedParameters(declared.parameters ?? []);
  const example = exampleArguments(parameters);
  const isInPath = (parameter: ManifestParameter) => path.includes(`{${parameter.name}}`);
  const others = parameters.filter((parameter) => !isInPath(parameter));
  const isOfQuery = OF_QUERY.includes(method.toLowerCase());
  const described = (parameter: ManifestParameter) => ({
    name: parameter.name,
    in: isInPath(parameter) ? "path" : "query",
    required: isInPath(parameter) || parameter.isRequired,
    schema: parameterSchema(parameter),
    ...(parameter.name in example && { example: example[parameter.name] }),
  });
  return {
    tags: [name],
    operationId: operationId(name, method.toLowerCase(), path),
    summary: declared.description ?? declared.name,
    parameters: (isOfQuery ? parameters : parameters.filter(isInPath)).map(described),
    ...(!isOfQuery && takesBody(declared, others) && { requestBody: bodyOf(declared, others) }),
    responses: {
      200: { description: "The response of the route.", content: jsonContent({}) },
      422: INVALID_ARGUMENTS,
      503: UNAVAILABLE,
    },
  };
}

function takesBody({ parameters = [] }: ManifestFunction, others: readonly ManifestParameter[]): boolean {
  return others.length > 0 || parameters.some(({ kind }) => kind === "var_keyword");
}

/** JSON, or a form where an argument is a file. */
function bodyOf({ parameters = [] }: ManifestFunction, others: readonly ManifestParameter[]): object {
  const all = [...others, ...parameters.filter(({ kind }) => kind === "var_keyword")];
  const required = others.some(({ isRequired }) => isRequired);
  const example = exampleArguments(others);
  if (others.some(({ annotation }) => isBinary(annotation)))
    return { required, content: { "multipart/form-data": { schema: formSchema(all, example) } } };
  return { required, content: jsonContent(argumentsSchema(all), { example }) };
}

/** The explorer shows the examples of a form at each field. */
function formSchema(
  parameters: readonly ManifestParameter[],
  example: Readonly<Record<string, unknown>>,
): Schema {
  const properties = namedParameters(parameters).map((parameter) => {
    const { name, annotation } = parameter;
    const withExample = isBinary(annotation) || !(name in example) ? {} : { example: example[name] };
    return [name, { ...parameterSchema(parameter), ...withExample }];
  });
  return { ...argumentsSchema(parameters), properties: Object.fromEntries(properties) };
}
