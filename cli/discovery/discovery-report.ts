/**
 * What `python -m edgerun.discovery` reports about an app: the contract between the Python package and the `flash`
 * command. Paths are relative to the project, with forward slashes; lines count from 1.
 */
import * as z from "zod";
import { manifestParameterSchema, manifestResourceSchema } from "../../src/contract/flash/flash-manifest.ts";
import { Failure } from "../../src/std/failure.ts";

const string = z.string();
const strings = z.array(string);
const line = z.number().int().positive();

/** Request of discovery, as JSON on its standard input. */
export type DiscoveryRequest = {
  readonly root: string;
  /** All `*.py` files of the project, sorted. */
  readonly files: readonly string[];
  /** Limit for importing one file. */
  readonly timeoutSeconds: number;
};

const functionSchema = z.object({
  name: string,
  module: string,
  line,
  isAsync: z.boolean(),
  isGenerator: z.boolean(),
  isClass: z.boolean(),
  classMethods: strings,
  httpMethod: string.nullable(),
  httpPath: string.nullable(),
  description: string.nullable(),
  /** Without `self`; of a class with one public method those of that method, of one with several none. */
  parameters: z.array(manifestParameterSchema),
  /** Present for a class: the parameters of each public method, without `self`. Older packages leave it out. */
  methodParameters: z.record(string, z.array(manifestParameterSchema)).optional(),
});
export type DiscoveredFunction = z.infer<typeof functionSchema>;

const endpointSchema = z.object({
  name: string,
  filePath: string,
  modulePath: string,
  line,
  configVariable: string.nullable(),
  isLoadBalanced: z.boolean(),
  /** It has its own image. */
  isClient: z.boolean(),
  /** The members of a manifest resource that the declaration sets, from `Endpoint.resource()`. */
  resource: manifestResourceSchema.partial(),
  dependencies: strings,
  systemDependencies: strings,
  /** Absent from older packages. */
  accelerateDownloads: z.boolean().optional(),
  pythonVersion: string.nullable(),
  functions: z.array(functionSchema),
  /** Local files that its code needs, including its own. */
  localFiles: strings,
  makesRemoteCalls: z.boolean(),
  /** Other endpoints whose functions its code refers to. Absent from older packages. */
  calls: strings.optional(),
});
export type DiscoveredEndpoint = z.infer<typeof endpointSchema>;

/** `file` is null for what concerns no file. */
const diagnosticSchema = z.object({ file: string.nullable(), line: line.nullable(), message: string });
export type Diagnostic = z.infer<typeof diagnosticSchema>;

export const discoveryReportSchema = z.object({
  protocol: z.literal(1),
  python: z.object({
    /** Such as 3.12.1. */
    version: string,
    executable: string,
    /** As sysconfig reports it, such as linux-x86_64. */
    platform: string,
  }),
  sdkVersion: string,
  endpoints: z.array(endpointSchema),
  /** Local files that any candidate needs, sorted. */
  localFiles: strings,
  /** Packages that these files import, by their top-level names. Absent from older packages. */
  imports: z.array(z.object({ file: string, line, module: string })).optional(),
  warnings: z.array(diagnosticSchema),
  errors: z.array(diagnosticSchema),
});
export type DiscoveryReport = z.infer<typeof discoveryReportSchema>;

/** With `--live`: also what is needed to run the code on live workers and to notice changes. */
export const liveReportSchema = discoveryReportSchema.extend({
  /** Id of the request. */
  id: z.number(),
  /** Some files are still being imported; another report follows. */
  isInterim: z.boolean(),
  /** Files that cannot be parsed; other versions of the package send this name. */
  faults: z.array(diagnosticSchema),
  /** SHA-256 of the candidates and of all local files that they need. */
  hashes: z.record(string, string),
  /** Files that are imported by one process, since they may depend on each other. */
  groups: z.array(strings),
  /** Files that have not been imported. */
  unread: strings,
  /** Why not; null while they are being imported. */
  failure: string.nullable(),
  /** Files other than modules that importing has opened; they may be missing. */
  opened: strings,
});
export type LiveReport = z.infer<typeof liveReportSchema>;

/** `file:line: message`, with as much of it as there is. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  if (diagnostic.file === null) return diagnostic.message;
  return `${diagnostic.line === null ? diagnostic.file : `${diagnostic.file}:${diagnostic.line}`}: ${diagnostic.message}`;
}

/** One Failure for all errors of an app, a line each; `done` is what they prevent. */
export function failureOf(errors: readonly Diagnostic[], done: "built" | "read" = "built"): Failure {
  const [only] = errors;
  if (errors.length === 1 && only?.file === null) {
    const [message = "", ...advice] = only.message.trimEnd().split("\n");
    return new Failure(capitalized(message), advice);
  }
  const count = errors.length === 1 ? "an error" : `${errors.length} errors`;
  return new Failure(
    `The app cannot be ${done}: ${count} in its declarations.`,
    errors.map(formatDiagnostic),
  );
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
