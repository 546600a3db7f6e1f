import { generateCredential, kindOfCredential, mayBeIssued } from "../../auth/credential.ts";
import { hashKey } from "../../auth/digest.ts";
import { countRequest, networkOf } from "../../auth/request-rates.ts";
import { joinRequestSchema, type JoinReply } from "../../contract/agent/agent.ts";
import { CONTROL_BODY_MAX_BYTES, HOSTS_MAX } from "../../contract/limits.ts";
import { openDatabase } from "../../db/database.ts";
import { countHosts, createHost } from "../../db/hosts.ts";
import { findJoinToken, redeemJoinToken, type JoinTokenRecord } from "../../db/credentials/join-tokens.ts";
import { noticeFor } from "../../domain/placement/agent-support.ts";
import { ServiceError } from "../../contract/errors.ts";
import { readBody } from "../body.ts";
import type { AgentContext } from "./context.ts";

/** `POST /agent/v1/join`: a join token, used once, becomes a host with a token of its own. */
export async function join(context: AgentContext): Promise<Response> {
  const network = networkOf(context.env, context.req.raw);
  if (network !== undefined) await countRequest(context.env, "join", network, Date.now());
  const request = await readBody(context.req.raw, joinRequestSchema, CONTROL_BODY_MAX_BYTES);
  const notice = noticeFor(request.agentVersion);
  if (notice?.kind === "refused") throw new ServiceError("invalid_input", notice.message);
  const now = Date.now();
  const database = openDatabase(context.env.DB);
  const { joinToken } = request;
  if (kindOfCredential(joinToken) !== "join-token" || !mayBeIssued(joinToken)) {
    throw new ServiceError("unauthorized", whyNot(undefined, now));
  }
  const tokenId = await hashKey(joinToken);
  const redeemed = await redeemJoinToken(database, tokenId, now);
  if (!redeemed) throw new ServiceError("unauthorized", whyNot(await findJoinToken(database, tokenId), now));
  const hostToken = generateCredential("host-token");
  const tokenHash = await hashKey(hostToken);
  const host = await createHost(database, { ...redeemed, name: request.name, tokenHash }, now);
  if (!host && (await countHosts(database, redeemed.accountId, now)) >= HOSTS_MAX) {
    throw new ServiceError("invalid_input", TOO_MANY);
  }
  if (!host) throw new ServiceError("unauthorized", KEY_ENDED);
  return context.json({ hostId: host.id, hostToken } satisfies JoinReply);
}

/** Who holds a token that was good once may know what became of it. */
function whyNot(token: JoinTokenRecord | undefined, now: number): string {
  if (!token) return `The join token is unknown to this edge, or was revoked. ${AGAIN}`;
  if (token.usedAt !== null) {
    return `The join token was used at ${toIsoTime(token.usedAt)}: each one is for one host. ${AGAIN}`;
  }
  return token.expiresAt <= now
    ? `The join token expired at ${toIsoTime(token.expiresAt)}. ${AGAIN}`
    : KEY_ENDED;
}

const AGAIN = "Make a new one (joinTokenCreate) and join again.";
const KEY_ENDED = `The API key that made the join token was revoked, has expired, or may not change anything now. ${AGAIN}`;
const TOO_MANY = `The account has ${HOSTS_MAX} hosts, which is as many as it may have. Remove those that are not used any more (hostRemove), and join again with a new join token.`;

function toIsoTime(at: number): string {
  return new Date(at).toISOString();
}
