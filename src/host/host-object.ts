/** The Host object: carries tunnels to the containers of one host over the link of its agent. It reads no message. */
import type { Rejections, Target, UpgradeCall } from "../forwarding/forwarder.ts";
import { ForwardingObject } from "../forwarding/forwarding-object.ts";
import type { ForwardFailure, NoWorker } from "../forwarding/messages.ts";
import { LINK_WINDOW_MAX_BYTES } from "../link/link-window.ts";

/** Tunnels of a host at once. */
const HOST_TUNNELS_MAX = 1_000;
/**
 * What the clients of all tunnels have sent and the link has not taken yet. Each has at most TUNNEL_WINDOW_BYTES on its
 * way, so as many fast uploads fit in as fill the link many times over; beyond that a connection is closed, and the
 * client resumes its tunnel. Below half of an object's memory.
 */
const HOST_BUFFER_MAX_BYTES = 48_000_000;

export class HostObject extends ForwardingObject {
  constructor(context: DurableObjectState, env: object) {
    // Files are copied over long ways, which takes a wide window.
    super(context, env, { bufferMaxBytes: HOST_BUFFER_MAX_BYTES, socketWindowBytes: LINK_WINDOW_MAX_BYTES });
  }

  /** The agent knows which containers run: one that cannot take the tunnel says why. */
  protected override choose(
    { affinity }: UpgradeCall,
    refused: Rejections,
  ): Target | NoWorker | ForwardFailure {
    if (this.streams.count >= HOST_TUNNELS_MAX) return { kind: "overloaded", limit: HOST_TUNNELS_MAX };
    const [link] = this.links.all;
    if (!link || affinity === null) return { kind: "wait", detail: "The agent of the host has no link." };
    const { workerId } = affinity;
    return refused.get(workerId) ?? { kind: "target", workerId, link };
  }
}
