import * as z from "zod";
import {
  clearable,
  environmentSchema,
  keepable,
  keepableText,
  nameSchema,
  oneOf,
  plainText,
  processText,
  wholeNumber,
} from "../input.ts";

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

const portsConfigSchema = z.array(z.object({ port: plainText, name: plainText }));

const containerFields = {
  name: keepable(nameSchema),
  imageName: keepable(processText.trim().min(1, "must not be empty")),
  containerDiskInGb: keepable(wholeNumber(1)),
  dockerArgs: keepable(processText),
  env: keepable(environmentSchema),
  ports: keepable(portsSchema),
  readme: keepable(plainText),
  containerRegistryAuthId: keepableOrBlank(),
  startSsh: keepable(z.boolean()),
  startJupyter: keepable(z.boolean()),
  startScript: keepable(plainText),
  advancedStart: keepable(z.boolean()),
  config: keepable(z.json()),
};

/** Null keeps the stored credential; only the empty string means "none". */
function keepableOrBlank() {
  return z.preprocess((value) => value ?? undefined, clearable(plainText));
}

/** What a saveTemplate asks to be different; undefined keeps, null clears. */
export const templatePatchSchema = z.object({
  ...containerFields,
  id: keepableText(plainText),
  volumeInGb: keepable(wholeNumber(0)),
  volumeMountPath: keepable(mountPathSchema),
  portsConfig: keepable(portsConfigSchema),
  isServerless: keepable(z.boolean()),
  isPublic: keepable(z.boolean()),
  category: clearable(oneOf(["CPU", "GPU", "NVIDIA", "AMD"])),
});
export type TemplatePatch = Partial<Omit<z.output<typeof templatePatchSchema>, "id">>;

/** The template that comes inline with an endpoint: a Serverless template always. */
export const inlineTemplateSchema = z
  .object({ ...containerFields, name: keepableText(nameSchema) })
  .transform((fields) => ({ ...fields, isServerless: true, volumeInGb: 0 }));
export type InlineTemplate = z.output<typeof inlineTemplateSchema>;
