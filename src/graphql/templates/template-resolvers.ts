import type { AccountRecord } from "../../db/accounts.ts";
import {
  findTemplate,
  listPublicTemplates,
  listUnboundTemplates,
  type TemplateRecord,
} from "../../db/templates.ts";
import type { RequestContext } from "../../management/context.ts";
import { nameSchema, parseInput } from "../../management/input.ts";
import { z } from "zod";
import { templatePatchSchema } from "../../management/templates/template-patch.ts";
import {
  changeTemplate,
  createTemplate,
  deleteTemplateByName,
} from "../../management/templates/template-storage.ts";

const deletionSchema = z.object({ templateName: nameSchema });

export const templateResolvers = {
  Query: {
    podTemplate: async (
      _parent: unknown,
      { id }: { id?: string | null },
      context: RequestContext,
    ): Promise<TemplateRecord | null> =>
      (await findTemplate(context.db, context.principal.accountId, id ?? "")) ?? null,
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
      account: AccountRecord,
      _args: unknown,
      context: RequestContext,
    ): Promise<readonly TemplateRecord[]> => await listUnboundTemplates(context.db, account.id),
  },
  PodTemplate: {
    isRunpod: (): boolean => false,
  },
};
