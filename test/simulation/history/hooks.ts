/** The receiver of webhooks. */
import type { Network } from "../runtime/network.ts";
import { Machine } from "../world/world.ts";

export class HookReceiver {
  /** Deliveries that were taken, by URL: the statuses that they told. */
  readonly taken = new Map<string, string[]>();
  readonly #machine = new Machine("hooks");

  constructor(network: Network, fails: () => boolean) {
    network.serve("hooks.test", (request) =>
      network.ask({
        what: "webhook",
        send: ({ succeed, fail }) => {
          network.world
            .on(this.#machine, async () => {
              if (fails()) return succeed(new Response("no", { status: 500 }));
              const told = (await request.json()) as { readonly status?: string };
              this.taken.set(request.url, [...(this.taken.get(request.url) ?? []), String(told.status)]);
              succeed(new Response("ok"));
            })
            .catch(fail);
        },
      }),
    );
  }
}
