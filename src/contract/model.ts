/** Models that workers find on their host: repositories of a hub with the API of Hugging Face. */
import * as z from "zod";

/** Models of one template. */
export const MODELS_MAX = 16;
export const REFERENCE_MAX_CHARACTERS = 256;
/** Of an organization, and of a model. */
const NAME_MAX_CHARACTERS = 96;

/** What a reference without a revision means. */
const BRANCH_DEFAULT = "main";

const PART = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;

/** `org/name`, or `org/name@revision` with a branch, a tag or a commit. */
export const modelReferenceSchema = z
  .string()
  .max(REFERENCE_MAX_CHARACTERS, `must have at most ${REFERENCE_MAX_CHARACTERS} characters`)
  .refine(
    isModelReference,
    "must have the form org/name or org/name@revision, such as Qwen/Qwen3-8B@main, as Hugging Face names models",
  );

export const modelReferencesSchema = z
  .array(modelReferenceSchema)
  .max(MODELS_MAX, `must have at most ${MODELS_MAX} models`);

function isModelReference(reference: string): boolean {
  const [id = "", revision, ...more] = reference.split("@");
  const names = id.split("/");
  if (more.length > 0 || names.length !== 2 || !names.every(isName)) return false;
  return revision === undefined || revision.split("/").every(isPart);
}

/** `--` would make the names of folders ambiguous. */
function isName(name: string): boolean {
  return isPart(name) && name.length <= NAME_MAX_CHARACTERS && !/--|[.-]$/.test(name);
}

function isPart(part: string): boolean {
  return PART.test(part) && !part.includes("..");
}

export type Model = {
  /** `org/name` */
  readonly id: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
};

/** Reads what the schema has accepted. */
export function readModelReference(reference: string): Model {
  const [id = "", revision = BRANCH_DEFAULT] = reference.split("@");
  return { id, revision };
}

/** A commit by the hash of its content. */
export const commitSchema = z
  .string()
  .regex(/^[0-9a-f]{40}$/, "must be a commit in 40 lower-case hex digits");

/** Models that a host reports, the last used ones; Fleet has those of all hosts in memory. */
export const HOST_MODELS_MAX = 64;

/** What a host has of a model. */
export const hostModelSchema = z.object({
  id: modelReferenceSchema.refine((reference) => !reference.includes("@"), "must have no revision"),
  commit: commitSchema,
  sizeBytes: z.int().nonnegative(),
});
export type HostModel = z.infer<typeof hostModelSchema>;

/** What a worker needs of models. */
export const assignedModelsSchema = z.object({
  /** Address of the hub, without a slash at its end. */
  source: z.url({ protocol: /^https?$/ }).max(2_000),
  references: modelReferencesSchema.min(1),
  /** Opens private models to the agent; the worker does not get it. */
  token: z.string().optional(),
});
export type AssignedModels = z.infer<typeof assignedModelsSchema>;

/** Ids of the models that a worker has. */
export function modelIdsOf(models: AssignedModels | undefined): readonly string[] {
  return [...new Set((models?.references ?? []).map((reference) => readModelReference(reference).id))];
}
