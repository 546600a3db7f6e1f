import * as z from "zod";
import type { AuthRequestStatus } from "../../contract/flash/flash-names.ts";
import type { FlashAuthRecord } from "../../db/flash/auth-requests.ts";
import type { RequestContext } from "../../management/context.ts";
import {
  decideLogin,
  decisionSchema,
  fetchKey,
  openLogin,
  requireLogin,
  statusOf,
} from "../../management/flash/login.ts";
import { parseInput, stringSchema } from "../../management/input-schemas.ts";

const statusSchema = z.object({ flashAuthRequestId: stringSchema.min(1, "must not be empty") });

type LoginView = Pick<FlashAuthRecord, "id" | "expiresAt" | "client"> & {
  readonly status: AuthRequestStatus;
  /** Called when it is asked for, since whoever only looks at a request must not use its key up. */
  readonly apiKey?: () => Promise<string | null>;
};

export const loginResolvers = {
  Query: {
    flashAuthRequestStatus: async (
      _parent: unknown,
      args: unknown,
      context: RequestContext,
    ): Promise<LoginView> => {
      const request = await requireLogin(context, parseInput(statusSchema, args).flashAuthRequestId);
      return { ...toView(request, context), apiKey: () => fetchKey(context, request) };
    },
  },
  Mutation: {
    createFlashAuthRequest: async (
      _parent: unknown,
      _args: unknown,
      context: RequestContext,
    ): Promise<LoginView> => toView(await openLogin(context), context),
    approveFlashAuthRequest: async (
      _parent: unknown,
      { input }: { readonly input?: unknown },
      context: RequestContext,
    ): Promise<LoginView> => toView(await decideLogin(context, parseInput(decisionSchema, input)), context),
  },
};

function toView(request: FlashAuthRecord, { now }: RequestContext): LoginView {
  const { id, expiresAt, client } = request;
  return { id, expiresAt, client, status: statusOf(request, now) };
}
