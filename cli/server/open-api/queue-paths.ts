/** Queue-based endpoints in the OpenAPI document. */
import type { ManifestFunction } from "../../../src/contract/flash/flash-manifest.ts";
import { WIRE_STATUSES } from "../../../src/contract/job-status.ts";
import { exampleArguments } from "../../manifest/example-arguments.ts";
import {
  type Schema,
  argumentsSchema,
  jsonContent,
  UNAVAILABLE,
  operationId,
  type Paths,
  INVALID_ARGUMENTS,
} from "./schemas.ts";
import type { ServedEndpoint } from "../requests/served-app.ts";

const JOB: Schema = {
  type: "object",
  properties: {
    id: { type: "string" },
    status: { enum: WIRE_STATUSES },
    output: {},
    error: { type: "string" },
    delayTime: { type: "integer", description: "Milliseconds until a worker took the job." },
    executionTime: { type: "integer", description: "Milliseconds from then to the result." },
  },
};
const WEBHOOK: Schema = { type: "string", format: "uri", description: "Called when the job has ended." };
const POLICY: Schema = {
  type: "object",
  properties: {
    executionTimeout: { type: "integer", description: "Milliseconds that the function may take." },
    lowPriority: { type: "boolean" },
    ttl: { type: "integer", description: "Milliseconds until the job is deleted in any state." },
  },
};

/** An accepted input: a function has one, a class one for each method. */
type Shape = { readonly name: string; readonly schema: Schema; readonly example: object };

export function queuePaths({ name, resource }: ServedEndpoint): Paths {
  const [declared] = resource.functions;
  const shapes = declared === undefined ? [] : shapesOf(declared);
  const call = (operation: string, summary: string, answer: string) => ({
    post: {
      tags: [name],
      operationId: operationId(name, operation),
      summary,
      requestBody: { required: true, content: jobContent(shapes) },
      responses: {
        200: { description: answer, content: jsonContent(JOB) },
        422: INVALID_ARGUMENTS,
        503: UNAVAILABLE,
      },
    },
  });
  const description = declared?.description ?? "Runs a job and waits for its result.";
  return {
    [`/${name}/runsync`]: call("runsync", description, "The job, with its output or its error."),
    [`/${name}/run`]: call("run", "Submit without waiting: answers with the job's id.", "The job's id."),
  };
}

/** Operations on existing jobs and on queues, once for all endpoints. */
export function jobOperations(tag: string, endpoints: readonly ServedEndpoint[]): Paths {
  const endpoint = {
    name: "endpoint",
    in: "path",
    required: true,
    schema: { type: "string", enum: endpoints.map(({ name }) => name) },
  };
  const job = { name: "job_id", in: "path", required: true, schema: { type: "string" } };
  const described = (method: "get" | "post", name: string, summary: string, schema: Schema = JOB) => ({
    [`/{endpoint}/${name}`]: {
      [method]: {
        tags: [tag],
        operationId: operationId(tag, name),
        summary,
        parameters: [endpoint, ...(name.includes("{job_id}") ? [job] : [])],
        responses: { 200: { description: "The response of the service.", content: jsonContent(schema) } },
      },
    },
  });
  return {
    ...described("get", "status/{job_id}", "The current state of a job"),
    ...described("get", "stream/{job_id}", "What a generator has yielded since the last call", {}),
    ...described("post", "cancel/{job_id}", "Cancel a job"),
    ...described("post", "retry/{job_id}", "Queue a failed job again"),
    ...described("get", "health", "Jobs and workers of an endpoint", {}),
    ...described("get", "requests", "Its latest jobs", {}),
    ...described("post", "purge-queue", "Remove all queued jobs", {}),
  };
}

function jobContent(shapes: readonly Shape[]): object {
  const [first, ...others] = shapes;
  if (first === undefined) return jsonContent(jobSchema({}), { example: { input: {} } });
  if (others.length === 0) return jsonContent(jobSchema(first.schema), { example: { input: first.example } });
  return jsonContent(jobSchema({ oneOf: shapes.map(({ schema }) => schema) }), {
    examples: Object.fromEntries(shapes.map(({ name, example }) => [name, { value: { input: example } }])),
  });
}

function jobSchema(input: Schema): Schema {
  return { type: "object", required: ["input"], properties: { input, webhook: WEBHOOK, policy: POLICY } };
}

function shapesOf(declared: ManifestFunction): readonly Shape[] {
  const methods = declared.is_class === true ? (declared.class_methods ?? []) : [];
  if (methods.length <= 1) {
    const parameters = declared.parameters ?? [];
    return [
      { name: declared.name, schema: argumentsSchema(parameters), example: exampleArguments(parameters) },
    ];
  }
  return methods.map((name) => {
    const parameters = declared.method_parameters?.[name] ?? [];
    const method = {
      name: "method",
      kind: "keyword",
      annotation: `Literal[${JSON.stringify(name)}]`,
    } as const;
    return {
      name,
      schema: argumentsSchema([{ ...method, isRequired: true }, ...parameters]),
      example: { method: name, ...exampleArguments(parameters) },
    };
  });
}
