/** Models that workers find on their host: repositories of a hub with the API of Hugging Face. */
import * as z from "zod";

/** Models of one template. */
export const MODELS_MAX = 16;
const REFERENCE_MAX_CHARACTERS = 256;
/** Of an organization, and of a model. */
const NAME_MAX_CHARACTERS = 96;

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

/** What a worker needs of models. */
export const assignedModelsSchema = z.object({
  /** Address of the hub, without a slash at its end. */
  source: z.url({ protocol: /^https?$/ }).max(2_000),
  references: modelReferencesSchema.min(1),
  /** Opens private models to the agent; the worker does not get it. */
  token: z.string().optional(),
});
export type AssignedModels = z.infer<typeof assignedModelsSchema>;
