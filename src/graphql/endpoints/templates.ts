import * as z from "zod";
import {
  changeTemplate,
  checkTemplateCreation,
  createTemplate,
  deleteTemplateByName,
  listOwnPublicTemplates,
  type TemplateRecord,
} from "../../management/endpoints/templates.ts";
import { nameSchema } from "../../management/input-schemas.ts";
import { inputSdl, typeSdl } from "../../management/nouns/field.ts";
import { templateFields, templatePatchSchema } from "../../management/nouns/template.ts";
import { dryRunSdl, withArguments, withDryRun, withoutArguments, type GraphqlContext } from "../context.ts";

export const templateSdl = /* GraphQL */ `
  type Query {
    "One template of the account; null when it does not exist."
    podTemplate(id: String): PodTemplate
    "Templates of the account that are public."
    podTemplates(input: PodTemplateInput): [PodTemplate]
  }

  type Mutation {
    "No id creates, an id merges. A taken name gives TEMPLATE_NAME_TAKEN."
    saveTemplate(
      input: SaveTemplateInput
      ${dryRunSdl}
    ): PodTemplate
    "By name. Refused with TEMPLATE_IN_USE while something uses it."
    deleteTemplate(templateName: String): Void
  }

  type User {
    "Without inline templates of endpoints."
    podTemplates: [PodTemplate]
  }

  input EnvironmentVariableInput {
    "Without =; the last of equal keys counts."
    key: String
    "May contain {{ SECRET_name }}, which the worker gets replaced by the value of that secret."
    value: String
  }
  type EnvironmentVariable {
    key: String
    value: String
  }

  enum TemplateCategory {
    CPU
    GPU
    NVIDIA
    AMD
  }

  input SaveTemplateInput {
    "Absent to create, present to change."
    id: String
    ${inputSdl(templateFields)}
  }
  input PodTemplateInput {
    "true: only those that come with the service, of which there are none."
    isRunpod: Boolean
  }
  input PortConfigInput {
    "<port>/<protocol>, as in ports."
    port: String
    "For users: what answers there."
    name: String
  }

  type PodTemplate {
    id: String
    ${typeSdl(templateFields)}
    "Always false: no templates come with the service."
    isRunpod: Boolean
  }
  type PortConfig {
    port: String
    name: String
  }
`;

const deletionSchema = z.object({ templateName: nameSchema });

export const templateResolvers = {
  Query: {
    podTemplate: async (
      _parent: unknown,
      { id }: { id?: string | null },
      { loaders }: GraphqlContext,
    ): Promise<TemplateRecord | undefined> => await loaders.template.load(id ?? ""),
    podTemplates: async (
      _parent: unknown,
      { input }: { input?: { isRunpod?: boolean | null } | null },
      context: GraphqlContext,
    ): Promise<readonly TemplateRecord[]> => (input?.isRunpod ? [] : await listOwnPublicTemplates(context)),
  },
  Mutation: {
    saveTemplate: withDryRun(templatePatchSchema, checkTemplateCreation, async (context, { id, ...patch }) =>
      id === undefined ? await createTemplate(context, patch) : await changeTemplate(context, id, patch),
    ),
    deleteTemplate: withArguments(deletionSchema, (context, { templateName }) =>
      deleteTemplateByName(context, templateName),
    ),
  },
  User: { podTemplates: withoutArguments(({ loaders }) => loaders.unboundTemplates.load()) },
  PodTemplate: {
    isRunpod: (): boolean => false,
  },
};
