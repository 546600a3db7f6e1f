/** Pure decisions about templates: what a patch makes of one, and whether containers must be replaced. */
import { isImageReference } from "../templates/image-reference.ts";
import type { EnvironmentVariable } from "../../db/schema.ts";
import type { TemplateValues } from "../../db/templates.ts";
import { requireStorable } from "../input-schemas.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { TemplatePatch } from "./template-patch.ts";

const CREATION_FIELDS = ["name", "imageName", "containerDiskInGb", "volumeInGb"] as const;

const DEFAULTS: Omit<TemplateValues, (typeof CREATION_FIELDS)[number]> = {
  volumeMountPath: "",
  dockerArgs: "",
  env: [],
  ports: "",
  portsConfig: [],
  readme: "",
  isServerless: false,
  isPublic: false,
  containerRegistryAuthId: null,
  startSsh: false,
  startJupyter: false,
  startScript: "",
  advancedStart: false,
  config: null,
  category: null,
};

/**
 * Merges a patch into a stored template, or into the defaults when there is none yet. The image of a Pod template
 * may be any text: some clients store a placeholder there and name the image with each pod.
 */
export function mergeTemplate(stored: TemplateValues | undefined, patch: TemplatePatch): TemplateValues {
  const values = { ...(stored ?? DEFAULTS), ...withoutUndefined(patch) };
  if (!isComplete(values)) {
    const missing = CREATION_FIELDS.filter((field) => values[field] === undefined);
    throw new ServiceError("invalid_input", `${missing.join(", ")}: required to create a template`);
  }
  if (values.isServerless && values.volumeInGb !== 0) {
    throw new ServiceError("invalid_input", "volumeInGb: must be 0 for a Serverless template");
  }
  const isNamed = patch.imageName !== undefined || patch.isServerless !== undefined;
  if (isNamed && values.isServerless && !isImageReference(values.imageName)) {
    throw new ServiceError(
      "invalid_input",
      `imageName: '${values.imageName}' is no reference to an image; it must have the form ` +
        "[registry/]repository[:tag][@digest] with a repository in lower case, such as ghcr.io/acme/worker:1.4",
    );
  }
  requireStorable(values);
  return values;
}

/** Says whether containers started from `before` differ from those started from `after`. */
export function changesContainers(before: TemplateValues, after: TemplateValues): boolean {
  return JSON.stringify(containerOf(before)) !== JSON.stringify(containerOf(after));
}

function containerOf(values: TemplateValues): unknown {
  return [
    values.imageName,
    values.dockerArgs,
    inOrderOfKeys(values.env),
    values.ports,
    values.containerDiskInGb,
    values.volumeInGb,
    values.volumeMountPath,
    values.containerRegistryAuthId,
    values.startSsh,
    values.startJupyter,
    values.startScript,
    values.advancedStart,
    values.config,
  ];
}

/** The variables as a container sees them: the order does not matter, the last of equal keys wins. */
export function inOrderOfKeys(env: readonly EnvironmentVariable[]): readonly (readonly string[])[] {
  const lastByKey = new Map(env.map(({ key, value }) => [key, value]));
  return [...lastByKey].sort(([a], [b]) => (a < b ? -1 : 1));
}

function isComplete(values: Partial<TemplateValues>): values is TemplateValues {
  return CREATION_FIELDS.every((field) => values[field] !== undefined);
}

type Defined<Patch> = { [Field in keyof Patch]?: Exclude<Patch[Field], undefined> };

export function withoutUndefined<Patch extends object>(patch: Patch): Defined<Patch> {
  return Object.fromEntries(
    Object.entries(patch).filter(([, value]) => value !== undefined),
  ) as Defined<Patch>;
}
