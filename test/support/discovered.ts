/** Reports of discovery, of which a test says only what it is about. */
import type {
  DiscoveredEndpoint,
  DiscoveredFunction,
  DiscoveryReport,
} from "../../cli/discovery/discovery-report.ts";

export function discoveredFunction(given: Partial<DiscoveredFunction> = {}): DiscoveredFunction {
  return {
    name: "work",
    module: "worker",
    line: 4,
    isAsync: false,
    isGenerator: false,
    isClass: false,
    classMethods: [],
    httpMethod: null,
    httpPath: null,
    description: null,
    parameters: [],
    ...given,
  };
}

export function discoveredEndpoint(given: Partial<DiscoveredEndpoint> = {}): DiscoveredEndpoint {
  return {
    name: "worker",
    filePath: "worker.py",
    modulePath: "worker",
    line: 3,
    configVariable: null,
    isLoadBalanced: false,
    isClient: false,
    resource: {},
    dependencies: [],
    systemDependencies: [],
    pythonVersion: null,
    functions: [discoveredFunction()],
    localFiles: ["worker.py"],
    makesRemoteCalls: false,
    ...given,
  };
}

export function discoveryReport(
  endpoints: readonly DiscoveredEndpoint[],
  given: Partial<DiscoveryReport> = {},
): DiscoveryReport {
  return {
    protocol: 1,
    python: { version: "3.11.7", executable: "/usr/bin/python3", platform: "linux-x86_64" },
    sdkVersion: "0.1.0",
    endpoints: [...endpoints],
    localFiles: [],
    warnings: [],
    errors: [],
    ...given,
  };
}
