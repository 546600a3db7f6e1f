/** Between two calls of the receiver of a webhook there is a pause, if the first one has failed. */
import type { World } from "../world/world.ts";
import { decodeJobId } from "../../../src/domain/jobs/job-id.ts";
import type { HookCall, HookReceiver } from "./hooks.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

export type WebhookPausesParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly hooks: HookReceiver;
  /** Whether a client has asked for the webhook of the job once more, which ends a pause. */
  readonly isAskedFor: (nonce: string) => boolean;
  readonly violate: (what: string) => void;
};

/** From the end of a failed call to the next one, as docs/how-to/webhooks.md says. */
const PAUSE_MS = 10_000;
/** The next one begins with a whole second, and with an alarm. */
const LATE_MS = 3_000;
/** With these an object may not be there when the pause is over, or lack what it sends. */
const HINDER: readonly Fault[] = ["objectCrashes", "redeployment", "d1Fails", "r2Fails", "slowNetwork"];

export class WebhookPauses {
  readonly #parts: WebhookPausesParts;
  /** Of each webhook, by its id. */
  readonly #last = new Map<string, HookCall>();
  readonly #isPrompt: boolean;

  constructor(parts: WebhookPausesParts) {
    this.#parts = parts;
    this.#isPrompt = !HINDER.some((fault) => parts.plan.faults.has(fault));
    parts.hooks.onCalled = (call) => this.#check(call);
  }

  /** An object that has lost its memory may not know of the call before, nor when it was. */
  #check(call: HookCall): void {
    const before = this.#last.get(call.id);
    this.#last.set(call.id, call);
    const isKnown = before !== undefined && before.sender === call.sender && before.life === call.life;
    const [, jobId = ""] = /^msg_(.*)_\d+$/.exec(call.id) ?? [];
    if (!isKnown || this.#parts.isAskedFor(decodeJobId(jobId)?.nonce ?? "")) return;
    const { violate } = this.#parts;
    const what = `webhook ${call.id} is sent again after`;
    if (call.sentAt - before.sentAt < PAUSE_MS) violate(`${what} ${call.sentAt - before.sentAt} ms`);
    const pauseMs = call.sentAt - (before.failedAt ?? call.sentAt);
    if (this.#isPrompt && pauseMs > PAUSE_MS + LATE_MS) violate(`${what} a pause of ${pauseMs} ms`);
  }
}
