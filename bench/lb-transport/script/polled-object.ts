/**
 * Transport A. The agent holds calls in the object; each call brings the answer to the request that the call before
 * it took, and takes the next. A large answer is the body of such a call, which goes to the client while it arrives.
 */
import { DurableObject } from "cloudflare:workers";
import type { Answer, Body } from "./answer.ts";
import { enterObject } from "./meter.ts";

export type PolledRequest = { readonly id: number; readonly head: Uint8Array; readonly body: Body };
type Given = Answer & { readonly id: number };

export class PolledObject extends DurableObject {
  readonly #polls: ((request: PolledRequest) => void)[] = [];
  readonly #waiting: PolledRequest[] = [];
  readonly #answered = new Map<number, (answer: Answer) => void>();
  readonly #leaves = new Map<number, () => void>();
  #lastId = 0;

  /** A client's request. */
  async request(head: Uint8Array, body: Body): Promise<Answer> {
    this.#lastId += 1;
    const request = { id: this.#lastId, head, body };
    this.#leaves.set(request.id, enterObject());
    const answer = new Promise<Answer>((resolve) => this.#answered.set(request.id, resolve));
    const poll = this.#polls.pop();
    if (poll) poll(request);
    else this.#waiting.push(request);
    return answer;
  }

  /** The agent's call. */
  async turn(given: Given | null): Promise<PolledRequest> {
    const leave = enterObject();
    if (given) await this.#give(given);
    const request = this.#waiting.shift();
    const next = request ?? (await new Promise<PolledRequest>((resolve) => this.#polls.push(resolve)));
    leave();
    return next;
  }

  async #give({ id, head, body }: Given): Promise<void> {
    const resolve = this.#answered.get(id);
    this.#answered.delete(id);
    if (body instanceof ReadableStream) {
      const { readable, writable } = new IdentityTransformStream();
      resolve?.({ head, body: readable });
      await body.pipeTo(writable).catch(() => {}); // the client or the agent is gone
    } else resolve?.({ head, body });
    this.#leaves.get(id)?.();
    this.#leaves.delete(id);
  }
}
