/** The Pod object: carries requests for the HTTP ports of one pod over the link of the host that runs it. */
import type { Rejections, Target, UpgradeCall } from "../forwarding/forwarder.ts";
import { ForwardingObject } from "../forwarding/forwarding-object.ts";
import type { ForwardCall, ForwardReply, NoWorker } from "../forwarding/messages.ts";

/** Requests of a pod at once; an open WebSocket is one. */
const POD_REQUESTS_MAX = 1_000;

export class PodObject extends ForwardingObject {
  protected override get noun() {
    return "Pod" as const;
  }

  /** Forwards a request to a port; the answer's body follows while it is read. */
  async forward(call: ForwardCall): Promise<ForwardReply> {
    return await this.forwarder.forward(call);
  }

  /** A pod runs on one host: the link of another is left from the time before it moved. */
  protected override accept(hostId: string): Response {
    this.links.dropOthers(hostId);
    return super.accept(hostId);
  }

  /** The agent reports the pod as its only worker while the container runs. */
  protected override choose(_call: UpgradeCall, refused: Rejections): Target | NoWorker {
    if (this.streams.count >= POD_REQUESTS_MAX) return { kind: "overloaded", limit: POD_REQUESTS_MAX };
    for (const link of this.links.all) {
      const [workerId] = link.workers;
      if (workerId !== undefined && !refused.has(workerId)) return { kind: "target", workerId, link };
    }
    return { kind: "wait", detail: "No host reports that the container of the pod runs." };
  }
}
