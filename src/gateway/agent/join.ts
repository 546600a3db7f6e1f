import { generateCredential } from "../../auth/credential.ts";
import { hashKey } from "../../auth/hash-key.ts";
import { joinRequestSchema, type JoinReply } from "../../contract/agent.ts";
import { CONTROL_BODY_MAX_BYTES } from "../../contract/limits.ts";
import { openDatabase } from "../../db/database.ts";
import { createHost } from "../../db/hosts.ts";
import { findJoinToken, redeemJoinToken, type JoinTokenRecord } from "../../db/join-tokens.ts";
import { noticeFor } from "../../domain/agent-age.ts";
import { ApiError } from "../api-error.ts";
import { readBody } from "../body.ts";
import type { AgentContext } from "./context.ts";

/** `POST /agent/v1/join`: a join token, used once, becomes a host with a token of its own. */
export async function join(context: AgentContext): Promise<Response> {
  const request = await readBody(context.req.raw, joinRequestSchema, CONTROL_BODY_MAX_BYTES);
  const notice = noticeFor(request.agentVersion);
  if (notice?.kind === "refused") throw new ApiError("invalid_input", notice.message);
  const now = Date.now();
  const database = openDatabase(context.env.DB);
  const tokenId = await hashKey(request.joinToken);
  const redeemed = await redeemJoinToken(database, tokenId, now);
  if (!redeemed) throw new ApiError("unauthorized", whyNot(await findJoinToken(database, tokenId)));
  const hostToken = generateCredential("host-token");
  const tokenHash = await hashKey(hostToken);
  const { id: hostId } = await createHost(
    database,
    { accountId: redeemed.accountId, name: request.name, tokenHash },
    now,
  );
  return context.json({ hostId, hostToken } satisfies JoinReply);
}

/** Who holds a token that was good once may know what became of it. */
function whyNot(token: JoinTokenRecord | undefined): string {
  const anew = "Make a new one (joinTokenCreate) and join again.";
  if (!token) return `The join token is unknown to this edge, or was revoked. ${anew}`;
  if (token.usedAt !== null) {
    return `The join token was used at ${toText(token.usedAt)}: each one is for one host. ${anew}`;
  }
  return `The join token expired at ${toText(token.expiresAt)}. ${anew}`;
}

function toText(at: number): string {
  return new Date(at).toISOString();
}
