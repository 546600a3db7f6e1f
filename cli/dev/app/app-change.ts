/** What is different between two readings of an app. */
import { isDeepStrictEqual } from "node:util";
import type { ManifestResource } from "../../../src/contract/flash/flash-manifest.ts";
import type { AppReading } from "./app-reading.ts";
import type { AppChange, LiveEndpoint } from "./live-app.ts";

/** Undefined when nobody would notice a difference. */
export function changeBetween(before: AppReading, after: AppReading): AppChange | undefined {
  const old = new Map(before.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  const names = new Set(after.endpoints.map(({ name }) => name));
  const retained = after.endpoints.flatMap((endpoint) => {
    const earlier = old.get(endpoint.name);
    return earlier === undefined ? [] : [{ earlier, endpoint }];
  });
  const change = {
    added: after.endpoints.map(({ name }) => name).filter((name) => !old.has(name)),
    removed: before.endpoints.map(({ name }) => name).filter((name) => !names.has(name)),
    changed: retained
      .filter((pair) => canRun(pair) && hasOtherCode(pair))
      .map(({ endpoint }) => endpoint.name),
    reconfigured: retained.filter(hasOtherSettings).map(({ endpoint }) => endpoint.name),
    problems: after.problems,
    warnings: after.warnings.filter((warning) => !before.warnings.includes(warning)),
  };
  const lists = [change.added, change.removed, change.changed, change.reconfigured, change.warnings];
  const isNothing = lists.every((list) => list.length === 0);
  return isNothing && isDeepStrictEqual(before.problems, after.problems) ? undefined : change;
}

type Pair = { readonly earlier: LiveEndpoint; readonly endpoint: LiveEndpoint };

function canRun({ endpoint }: Pair): boolean {
  return endpoint.problem === undefined;
}

function hasOtherCode({ earlier, endpoint }: Pair): boolean {
  return !isDeepStrictEqual(
    [earlier.code, earlier.resource.functions, earlier.peers],
    [endpoint.code, endpoint.resource.functions, endpoint.peers],
  );
}

function hasOtherSettings({ earlier, endpoint }: Pair): boolean {
  return !isDeepStrictEqual(settingsOf(earlier.resource), settingsOf(endpoint.resource));
}

/** What the service is told of an endpoint; the rest is about its code. */
function settingsOf(resource: ManifestResource): object {
  const {
    functions: _functions,
    file_path: _filePath,
    module_path: _modulePath,
    config_variable: _configVariable,
    handler_file: _handlerFile,
    makes_remote_calls: _makesRemoteCalls,
    ...settings
  } = resource;
  return settings;
}
