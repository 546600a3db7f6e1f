/** An agent's link to a load-balanced endpoint: a WebSocket that this script hands on to the endpoint's object. */
import type { Unconfigured } from "../../endpoint/messages.ts";
import { ServiceError } from "../../contract/errors.ts";
import { callEndpoint, requireEndpoint } from "../endpoint-directory.ts";
import type { AgentContext } from "./context.ts";

type LinkReply =
  | Unconfigured
  | { readonly kind: "not_placed" }
  | { readonly kind: "opened"; readonly response: Response };

/** `GET /agent/v1/endpoints/<id>/link`, upgraded: carries requests as contract/link-frame.ts says. */
export async function openLink(context: AgentContext): Promise<Response> {
  if (context.req.header("Upgrade")?.toLowerCase() !== "websocket") {
    throw new ServiceError("invalid_input", "A link is a WebSocket: send 'Upgrade: websocket'.");
  }
  const { hostId, accountId } = context.get("host");
  const endpoint = await requireEndpoint(context.env, accountId, context.req.param("endpointId") ?? "");
  if (endpoint.type !== "LB") {
    throw new ServiceError(
      "wrong_endpoint_type",
      "Only load-balanced endpoints have links. Take jobs by exchange.",
    );
  }
  const url = `https://object/link?${new URLSearchParams({ host: hostId }).toString()}`;
  const reply = await callEndpoint(context.env, endpoint, async (stub): Promise<LinkReply> => {
    const answer = await stub.fetch(url, { headers: { Upgrade: "websocket" } });
    return answer.status === 101
      ? { kind: "opened", response: answer }
      : await answer.json<Exclude<LinkReply, { kind: "opened" }>>();
  });
  if (reply.kind === "opened") return reply.response;
  throw new ServiceError(
    "worker_not_assigned",
    `This host has no worker of endpoint ${endpoint.endpointId}, so it gets no requests of it. Sync first.`,
  );
}
