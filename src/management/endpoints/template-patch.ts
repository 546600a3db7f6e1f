import * as z from "zod";
import {
  clearable,
  environmentSchema,
  optional,
  optionalNonEmpty,
  nameSchema,
  oneOf,
  stringSchema,
  processString,
  wholeNumber,
} from "../input-schemas.ts";

const PORT_MAX = 65_535;

export const mountPathSchema = z.string().regex(/^(\/.*)?$/, "must begin with /, such as /workspace");

export const portsSchema = z.string().transform((ports, context) => {
  const entries = ports
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  const wrong = entries.find((entry) => !isPortEntry(entry));
  if (wrong !== undefined) {
    context.addIssue(`'${wrong}' must have the form <port>/<protocol>, with http or tcp as protocol`);
  }
  return entries.join(",");
});

function isPortEntry(entry: string): boolean {
  const [, port] = /^(\d{1,5})\/(?:http|tcp)$/.exec(entry) ?? [];
  return port !== undefined && Number(port) >= 1 && Number(port) <= PORT_MAX;
}

const portsConfigSchema = z.array(z.object({ port: stringSchema, name: stringSchema }));

const containerFields = {
  name: optional(nameSchema),
  imageName: optional(processString.trim().min(1, "must not be empty")),
  containerDiskInGb: optional(wholeNumber(1)),
  dockerArgs: optional(processString),
  env: optional(environmentSchema),
  ports: optional(portsSchema),
  readme: optional(stringSchema),
  containerRegistryAuthId: optionalOrBlank(),
  startSsh: optional(z.boolean()),
  startJupyter: optional(z.boolean()),
  startScript: optional(stringSchema),
  advancedStart: optional(z.boolean()),
  config: optional(z.json()),
};

/** Null keeps the stored credential; only the empty string means "none". */
function optionalOrBlank() {
  return z.preprocess((value) => value ?? undefined, clearable(stringSchema));
}

/** What a saveTemplate asks to be different; undefined keeps, null clears. */
export const templatePatchSchema = z.object({
  ...containerFields,
  id: optionalNonEmpty(stringSchema),
  volumeInGb: optional(wholeNumber(0)),
  volumeMountPath: optional(mountPathSchema),
  portsConfig: optional(portsConfigSchema),
  isServerless: optional(z.boolean()),
  isPublic: optional(z.boolean()),
  category: clearable(oneOf(["CPU", "GPU", "NVIDIA", "AMD"])),
});
export type TemplatePatch = Partial<Omit<z.output<typeof templatePatchSchema>, "id">>;

/** The template that comes inline with an endpoint: a Serverless template always. */
export const inlineTemplateSchema = z
  .object({ ...containerFields, name: optionalNonEmpty(nameSchema) })
  .transform((fields) => ({ ...fields, isServerless: true, volumeInGb: 0 }));
export type InlineTemplate = z.output<typeof inlineTemplateSchema>;
