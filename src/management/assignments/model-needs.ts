/** What workers need of models, before the secret that opens private ones is. */
import type { AssignedModels } from "../../contract/model.ts";
import type { TemplateRecord } from "../../db/templates.ts";
import type { Env } from "../../env.ts";
import type { Blueprint } from "./blueprint.ts";
import type { OpenedSecrets } from "./opened-secrets.ts";

/** The hub that hosts download from, unless MODEL_SOURCE names another one. */
const SOURCE_DEFAULT = "https://huggingface.co";

export type ModelNeeds = Pick<AssignedModels, "source" | "references"> & {
  /** Names the secret whose value opens private models. */
  readonly tokenSecret: string | null;
  /** For messages: "models of template 'x'". */
  readonly owner: string;
};

type Needing = Pick<Blueprint, "models">;

/** Nothing for a template without models. */
export function modelNeeds(
  { MODEL_SOURCE }: Pick<Env, "MODEL_SOURCE">,
  { name, models, modelTokenSecret }: Pick<TemplateRecord, "name" | "models" | "modelTokenSecret">,
): Pick<Blueprint, "models" | "problem"> {
  if (models.length === 0) return {};
  const source = sourceAddress(MODEL_SOURCE || SOURCE_DEFAULT);
  if (source === undefined) {
    return { problem: "MODEL_SOURCE of this deployment must be an address with http or https." };
  }
  const owner = `models of template '${name}'`;
  return { models: { source, references: [...models], tokenSecret: modelTokenSecret, owner } };
}

function sourceAddress(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return undefined;
  return `${url.origin}${url.pathname}`.replace(/\/$/, "");
}

export function modelTokenProblem({ models }: Needing, secrets: OpenedSecrets): string | undefined {
  if (!models || models.tokenSecret === null) return undefined;
  return secrets.problemOfValue(models.tokenSecret, models.owner);
}

/** For an assignment; the secret has no problem. */
export function assignedModels({ models }: Needing, secrets: OpenedSecrets): { models?: AssignedModels } {
  if (!models) return {};
  const { source, references, tokenSecret } = models;
  const token = tokenSecret === null ? {} : { token: secrets.value(tokenSecret) };
  return { models: { source, references, ...token } };
}
