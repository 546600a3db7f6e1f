import * as z from "zod";
import type { AuthRequestStatus } from "../../contract/flash/flash-names.ts";
import type { RequestContext } from "../../management/context.ts";
import {
  decideLogin,
  decisionSchema,
  fetchKey,
  type Login,
  loginOptionsSchema,
  openLogin,
  requireLogin,
  statusOf,
} from "../../management/flash/login.ts";
import { idSchema } from "../../management/input-schemas.ts";
import { withArguments, withInput } from "../context.ts";

export const loginSdl = /* GraphQL */ `
  type Query {
    "The state of a login, for any caller that knows its id; needs no key."
    flashAuthRequestStatus(flashAuthRequestId: String): FlashAuthRequest
  }

  type Mutation {
    "Opens a login for a client, which sends its user to /flash/login?request=<id>; needs no key."
    createFlashAuthRequest(
      "Given back with the state, so that the client knows which login is its own: RFC 7636, method S256."
      codeChallenge: String
      codeChallengeMethod: String
      "Name of the key that the client gets."
      apiKeyName: String
    ): FlashAuthRequest
    "Approves a login, whose client then gets a new key with the permissions of this one, or denies it."
    approveFlashAuthRequest(input: ApproveFlashAuthRequestInput): FlashAuthRequest
  }

  type FlashAuthRequest {
    "A caller that knows it gets the key."
    id: String
    "PENDING, APPROVED, CONSUMED, DENIED or EXPIRED."
    status: String
    expiresAt: DateTime
    "How the client identifies itself: its User-Agent."
    client: String
    "As it was sent when the login was opened; null for none."
    codeChallenge: String
    "S256; null without a challenge."
    codeChallengeMethod: String
    "Of an approved login, shown once: from then on it is CONSUMED."
    apiKey: String
  }
  input ApproveFlashAuthRequestInput {
    flashAuthRequestId: String
    "False denies it; true makes a key for the client."
    isApproved: Boolean
  }
`;

const statusSchema = z.object({ flashAuthRequestId: idSchema });

type LoginView = Pick<Login, "id" | "expiresAt" | "client"> & {
  readonly codeChallenge: string | null;
  readonly codeChallengeMethod: string | null;
  readonly status: AuthRequestStatus;
  /** Called only when it is selected, since the key can be fetched once. */
  readonly apiKey?: () => Promise<string | null>;
};

export const loginResolvers = {
  Query: {
    flashAuthRequestStatus: withArguments(
      statusSchema,
      async (context, { flashAuthRequestId }): Promise<LoginView> => {
        const request = await requireLogin(context, flashAuthRequestId);
        return { ...toView(request, context), apiKey: () => fetchKey(context, request) };
      },
    ),
  },
  Mutation: {
    createFlashAuthRequest: withArguments(loginOptionsSchema, async (context, options) =>
      toView(await openLogin(context, options), context),
    ),
    approveFlashAuthRequest: withInput(decisionSchema, async (context, decision) =>
      toView(await decideLogin(context, decision), context),
    ),
  },
};

function toView(request: Login, { now }: RequestContext): LoginView {
  const { id, expiresAt, client, options } = request;
  const codeChallenge = options.codeChallenge ?? null;
  const codeChallengeMethod = codeChallenge === null ? null : "S256";
  return { id, expiresAt, client, codeChallenge, codeChallengeMethod, status: statusOf(request, now) };
}
