import type { AccountRecord } from "../../db/accounts.ts";
import { listPublicTemplates, type TemplateRecord } from "../../db/templates.ts";
import type { RequestContext } from "../../management/context.ts";
import { nameSchema, parseInput } from "../../management/input-schemas.ts";
import * as z from "zod";
import { templatePatchSchema } from "../../management/nouns/template.ts";
import {
  changeTemplate,
  createTemplate,
  deleteTemplateByName,
} from "../../management/endpoints/templates.ts";
import type { GraphqlContext } from "../context.ts";

const deletionSchema = z.object({ templateName: nameSchema });

export const templateResolvers = {
  Query: {
    podTemplate: async (
      _parent: unknown,
      { id }: { id?: string | null },
      { loaders }: GraphqlContext,
    ): Promise<TemplateRecord | null> => (await loaders.template.load(id ?? "")) ?? null,
    podTemplates: async (
      _parent: unknown,
      { input }: { input?: { isRunpod?: boolean | null } | null },
      context: RequestContext,
    ): Promise<readonly TemplateRecord[]> =>
      input?.isRunpod ? [] : await listPublicTemplates(context.db, context.principal.accountId),
  },
  Mutation: {
    saveTemplate: async (
      _parent: unknown,
      { input }: { input?: unknown },
      context: RequestContext,
    ): Promise<TemplateRecord> => {
      const { id, ...patch } = parseInput(templatePatchSchema, input);
      return id === undefined
        ? await createTemplate(context, patch)
        : await changeTemplate(context, id, patch);
    },
    deleteTemplate: async (_parent: unknown, args: unknown, context: RequestContext): Promise<null> => {
      const { templateName } = parseInput(deletionSchema, args);
      await deleteTemplateByName(context, templateName);
      return null;
    },
  },
  User: {
    podTemplates: async (
      _account: AccountRecord,
      _args: unknown,
      { loaders }: GraphqlContext,
    ): Promise<readonly TemplateRecord[]> => await loaders.unboundTemplates.load(),
  },
  PodTemplate: {
    isRunpod: (): boolean => false,
  },
};
