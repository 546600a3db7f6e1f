/** The receiver of webhooks. */
import type { Network } from "../runtime/network.ts";
import { place } from "../world/globals.ts";
import { Machine } from "../world/world.ts";

/** A call of the receiver. */
export type HookCall = {
  /** The same in all calls for one end of a job. */
  readonly id: string;
  readonly url: string;
  /** The object that calls, and which of its lives. */
  readonly sender: Machine;
  readonly life: number;
  /** True time at which it calls. */
  readonly sentAt: number;
  /** When it has heard that its call was taken; null if the answer got lost or came too late. */
  heardAt: number | null;
  /** When it has heard that its call was not taken, or has given it up; null before. */
  failedAt: number | null;
};

export class HookReceiver {
  readonly #machine = new Machine("hooks");

  constructor(network: Network, fails: () => boolean) {
    network.serve("hooks.test", async (request) => {
      const { machine: sender } = place() as { machine: Machine };
      const [id, { now: sentAt }] = [request.headers.get("webhook-id") ?? "", network.world];
      const call: HookCall = {
        id,
        url: request.url,
        sender,
        life: sender.life,
        sentAt,
        heardAt: null,
        failedAt: null,
      };
      this.onCalled(call);
      request.signal.addEventListener("abort", () => (call.failedAt ??= network.world.now));
      const answer = (await network.ask({
        what: "webhook",
        send: ({ succeed, fail }) => {
          network.world
            .on(this.#machine, async () => {
              if (fails()) return succeed(new Response("no", { status: 500 }));
              const told = (await request.json()) as Record<string, unknown>;
              this.onTaken(call, told);
              succeed(new Response("ok"));
            })
            .catch(fail);
        },
      })) as Response;
      if (answer.ok && !request.signal.aborted) call.heardAt = network.world.now;
      if (!answer.ok) call.failedAt ??= network.world.now;
      return answer;
    });
  }

  /** A call is about to be made. */
  onCalled: (call: HookCall) => void = () => {};

  /** A call is answered with success. */
  onTaken: (call: HookCall, told: Record<string, unknown>) => void = () => {};
}
