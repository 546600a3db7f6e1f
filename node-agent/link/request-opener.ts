/** Opens the streams of a link that carries requests to the servers of workers. */
import type { Agent } from "node:http";
import { errorMessage } from "../../src/std/errors.ts";
import type { OpenTarget } from "../../src/link/link-frame.ts";
import { requestHeadSchema } from "../../src/link/link-messages.ts";
import type { AdmissionControl } from "./admission.ts";
import type { Channel } from "./channel.ts";
import { HttpStream } from "./http-stream.ts";
import type { ForwardedRequest, LinkStream, OpenedStream, StreamOpener } from "./link-stream.ts";
import type { BufferedMessages } from "./message-buffer.ts";
import { WebsocketStream } from "./websocket-stream.ts";

export type RequestOpenerOptions = {
  readonly endpointId: string;
  readonly admissionControl: AdmissionControl;
  /** Shared by the links of an agent. */
  readonly connections: Agent;
  readonly buffered: BufferedMessages;
};

export class RequestOpener implements StreamOpener {
  readonly #options: RequestOpenerOptions;

  constructor(options: RequestOpenerOptions) {
    this.#options = options;
  }

  open(opened: OpenedStream): LinkStream | null {
    const { admissionControl, endpointId, buffered } = this.#options;
    const { target, channel } = opened;
    const { workerId, port } = target;
    const { data: head } = requestHeadSchema.safeParse(opened.head);
    if (!head) return refuse(channel, "protocol", "The head of the request is invalid.");
    const evict = () => opened.end("worker_gone", `The worker ${workerId} was put on standby.`);
    const admission = admissionControl.admit(endpointId, workerId, evict, port);
    if (!admission) return refuse(channel, ...absence(target));
    const connectionFailed = () => admissionControl.connectionFailed(endpointId, workerId);
    const connectionRefused = () => admissionControl.connectionRefused(endpointId, workerId);
    const request = { channel, admission, connectionFailed, connectionRefused, buffered, head };
    return this.#forward(request, opened.hasBody);
  }

  #forward(request: ForwardedRequest, hasBody: boolean): LinkStream | null {
    const { connections } = this.#options;
    try {
      if (request.head.kind === "websocket") return new WebsocketStream(request);
      return new HttpStream({ ...request, hasBody, connections });
    } catch (error) {
      request.admission.release();
      const detail = errorMessage(error);
      return refuse(request.channel, "protocol", `The request cannot be written as HTTP: ${detail}.`);
    }
  }
}

function refuse(channel: Channel, ...[reason, detail]: Parameters<Channel["fail"]>): null {
  channel.fail(reason, detail);
  return null;
}

function absence({ workerId, port }: OpenTarget): Parameters<Channel["fail"]> {
  if (port === undefined) return ["worker_gone", `The worker ${workerId} takes no requests any more.`];
  return ["worker_failed", `Port ${port} of pod ${workerId} is not open: the pod starts, or ends.`];
}
