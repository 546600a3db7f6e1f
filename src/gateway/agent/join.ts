import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/hash-key.ts";
import { joinRequestSchema, type JoinReply } from "../../contract/agent.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { openDatabase } from "../../db/database.ts";
import { createHost } from "../../db/hosts.ts";
import { redeemJoinToken } from "../../db/join-tokens.ts";
import { ApiError } from "../api-error.ts";
import { readBody } from "../body.ts";
import type { AgentContext } from "./context.ts";

/** `POST /agent/v1/join`: a join token, used once, becomes a host with a token of its own. */
export async function join(context: AgentContext): Promise<Response> {
  const request = await readBody(context.req.raw, joinRequestSchema, CONTROL_BODY_MAX_BYTES);
  const now = Date.now();
  const database = openDatabase(context.env.DB);
  const redeemed = await redeemJoinToken(database, await hashKey(request.joinToken), now);
  if (!redeemed) {
    throw new ApiError(
      "unauthorized",
      "The join token is unknown, used or expired. Make a new one (joinTokenCreate) and join again.",
    );
  }
  const hostToken = generateCredential("host-token");
  const tokenHash = await hashKey(hostToken);
  const { id: hostId } = await createHost(
    database,
    { accountId: redeemed.accountId, name: request.name, tokenHash },
    now,
  );
  return context.json({ hostId, hostToken } satisfies JoinReply);
}
