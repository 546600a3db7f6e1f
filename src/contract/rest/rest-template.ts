/** Templates as REST v1 spells them. */
import * as z from "zod";
import {
  blankIsAbsent,
  environmentSchema,
  nameSchema,
  oneOf,
  stringSchema,
  warningsSchema,
  wholeNumber,
  stringsSchema,
  zeroIsAbsent,
} from "./rest.ts";
import { CONTAINER_DISK_DEFAULT_GB } from "../endpoint.ts";

const imageSchema = stringSchema.trim().min(1, "must not be empty").meta({
  description: "Container image with its tag; `latest` when it has none.",
  example: "ghcr.io/acme/worker:1.4",
});

const templateFields = {
  category: oneOf(["CPU", "GPU", "NVIDIA", "AMD"]).nullish(),
  containerDiskInGb: zeroIsAbsent(wholeNumber(1)).meta({
    description: `Disk of the container in GB; ${CONTAINER_DISK_DEFAULT_GB} for a new template.`,
  }),
  containerRegistryAuthId: stringSchema.nullish().meta({
    description: "Credentials for a private image; an empty text means none.",
  }),
  dockerEntrypoint: stringsSchema.nullish().meta({
    description: "Replaces the ENTRYPOINT of the image. Empty: that of the image.",
  }),
  dockerStartCmd: stringsSchema.nullish().meta({
    description: "Replaces the CMD of the image. Empty: that of the image.",
    example: ["python", "-u", "handler.py"],
  }),
  env: environmentSchema.nullish(),
  isPublic: z.boolean("must be true or false").nullish(),
  ports: stringsSchema.nullish().meta({
    description: "Ports to expose, as <port>/http or <port>/tcp.",
    example: ["8000/http"],
  }),
  readme: stringSchema.nullish().meta({ description: "Markdown." }),
  volumeInGb: wholeNumber(0).nullish().meta({
    description: "Size of the volume in GB. 0 for Serverless templates, and for a new template.",
  }),
  volumeMountPath: blankIsAbsent(stringSchema).meta({ description: "/workspace for a new template." }),
};

/** Body of `POST /v1/templates`. */
export const templateCreateSchema = z
  .object({
    ...templateFields,
    name: nameSchema.meta({ description: "Unique within the account.", example: "sdxl" }),
    imageName: imageSchema,
    isServerless: z.boolean("must be true or false").nullish().meta({
      description: "True for a template of endpoints; false for one of pods.",
    }),
  })
  .meta({ id: "TemplateCreateInput" });

/** Body of `PATCH /v1/templates/{id}`: what it omits stays. */
export const templateUpdateSchema = z
  .object({
    ...templateFields,
    name: blankIsAbsent(nameSchema),
    imageName: blankIsAbsent(imageSchema),
  })
  .meta({ id: "TemplateUpdateInput" });
export type TemplateUpdate = z.infer<typeof templateUpdateSchema>;

export const templateSchema = z
  .object({
    id: z.string().meta({ example: "xkhgg72fuo4q8z" }),
    name: z.string(),
    imageName: z.string(),
    category: z.string().nullable(),
    containerDiskInGb: z.int(),
    containerRegistryAuthId: z.string().meta({ description: "Empty when there is none." }),
    dockerEntrypoint: z.array(z.string()),
    dockerStartCmd: z.array(z.string()),
    env: z.record(z.string(), z.string()),
    isPublic: z.boolean(),
    isRunpod: z.boolean().meta({ description: "Always false: there are no official templates." }),
    isServerless: z.boolean(),
    ports: z.array(z.string()),
    readme: z.string(),
    volumeInGb: z.int(),
    volumeMountPath: z.string(),
    earned: z.number().meta({ description: "Always 0." }),
    runtimeInMin: z.number().meta({ description: "Always 0." }),
    warnings: warningsSchema,
  })
  .meta({ id: "Template" });
export type RestTemplate = z.infer<typeof templateSchema>;
