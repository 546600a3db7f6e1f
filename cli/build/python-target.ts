/** Which Python the workers of an app run. */
import type { DiscoveredEndpoint } from "../discovery/discovery-report.ts";
import { Failure } from "../failure.ts";

const TARGETS = ["3.10", "3.11", "3.12", "3.13"];
/** Where the person's interpreter is none of them. */
const USUAL_TARGET = "3.12";

/** One for the whole app: what is asked for, else what endpoints declare, else the person's interpreter. */
export function pythonTarget(
  asked: string | undefined,
  endpoints: readonly DiscoveredEndpoint[],
  interpreter: string,
): string {
  const wishes = [
    ...(asked === undefined ? [] : [{ version: asked, place: "--python-version" }]),
    ...endpoints.flatMap(({ pythonVersion, filePath, line, name }) =>
      pythonVersion === null ? [] : [{ version: pythonVersion, place: `${filePath}:${line} (endpoint ${name})` }],
    ),
  ];
  for (const { version, place } of wishes) {
    if (!TARGETS.includes(version)) {
      throw new Failure(`Workers do not run Python ${version}, which ${place} asks for.`, [
        `They run ${TARGETS.join(", ")}.`,
      ]);
    }
  }
  const [first] = wishes;
  const other = wishes.find(({ version }) => version !== first?.version);
  if (first && other) {
    throw new Failure("All endpoints of an app run one version of Python.", [
      ...[first, other].map(({ version, place }) => `${place} asks for ${version}.`),
    ]);
  }
  const own = interpreter.split(".").slice(0, 2).join(".");
  return first?.version ?? (TARGETS.includes(own) ? own : USUAL_TARGET);
}
