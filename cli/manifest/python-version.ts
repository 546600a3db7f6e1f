/** The one Python version that an app is built for. */
import type { DiscoveredEndpoint, DiscoveryReport } from "../discovery/discovery-report.ts";
import { Failure } from "../../src/std/failure.ts";

/** Versions with runtime images. */
export const PYTHON_VERSIONS = ["3.10", "3.11", "3.12", "3.13"] as const;
const DEFAULT_VERSION = "3.12";

type VersionRequest = { readonly version: string; readonly from: string };

/**
 * Such as 3.12: the requested version, else what endpoints declare, else that of the interpreter where there is an
 * image for it. Throws a Failure that names both when two differ.
 */
export function choosePythonVersion(report: DiscoveryReport, requested?: string): string {
  const requests: VersionRequest[] = [
    ...(requested === undefined ? [] : [{ version: requested, from: "--python-version" }]),
    ...report.endpoints.filter(hasCode).flatMap((endpoint) => {
      const { pythonVersion, name, filePath, line } = endpoint;
      const from = `the endpoint ${name} (${filePath}:${line})`;
      return pythonVersion === null ? [] : [{ version: pythonVersion, from }];
    }),
  ];
  for (const request of requests) assertSupported(request);
  const [first] = requests;
  if (first === undefined) return versionOf(report);
  const other = requests.find(({ version }) => version !== first.version);
  if (other === undefined) return first.version;
  throw new Failure("An app has one Python version, but two are requested.", [
    `${first.from}: ${first.version}`,
    `${other.from}: ${other.version}`,
  ]);
}

function hasCode(endpoint: DiscoveredEndpoint): boolean {
  return !endpoint.isClient;
}

function assertSupported({ version, from }: VersionRequest): void {
  if (isSupported(version)) return;
  throw new Failure(`There is no runtime image for Python ${version}, requested by ${from}.`, [
    `Choose ${PYTHON_VERSIONS.slice(0, -1).join(", ")} or ${PYTHON_VERSIONS.at(-1)}.`,
  ]);
}

function isSupported(version: string): boolean {
  return PYTHON_VERSIONS.some((supported) => supported === version);
}

function versionOf(report: DiscoveryReport): string {
  const version = minorOf(report.python.version);
  return isSupported(version) ? version : DEFAULT_VERSION;
}

/** Such as 3.12 of 3.12.1. */
export function minorOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}
