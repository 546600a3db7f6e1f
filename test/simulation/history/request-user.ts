/** A client of a load-balanced endpoint, or of pods: sends requests, some of which it breaks off, and reads what comes; and opens WebSockets. */
import { MARK_HEADER } from "../host/marks.ts";
import { PARTS_HEADER, SIZED_HEADER } from "../host/request-worker.ts";
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import type { ReceivedAnswer, Requests, SentRequest } from "./requests.ts";
import type { RequestPlace, RequestTarget } from "./request-places.ts";
import { SocketUse } from "./socket-use.ts";

export type RequestUserParts = {
  readonly world: World;
  readonly plan: HistoryPlan;
  readonly client: SimulatedClient;
  readonly place: RequestPlace;
  /** Of another account; null where there is none. */
  readonly stranger: SimulatedClient | null;
  readonly requests: Requests;
  readonly hasPlatformFaults: boolean;
};

const WORKER_HEADER = "X-Runpod-Worker-Id";
const PATIENCE_MS: readonly number[] = [500, 3_000, 20_000, 60_000, 60_000];
/** Beyond all limits of the edge. */
const PATIENT_MS = 15 * 60_000;
const PATIENT = 0.1;
const FOREIGN = 0.1;
/** Share of WebSockets, where there are any. */
const SOCKETS = 0.4;
const PIECE_MS = 50;
/** More would only take longer. */
const REQUESTS_MAX = 6;

type Ask = { readonly headers: Record<string, string>; readonly workerId: string | null };
type Made = {
  readonly request: SentRequest;
  readonly sender: SimulatedClient;
  readonly headers: Record<string, string>;
};
type Body = { readonly bytes: number; readonly init: RequestInit };

export class RequestUser {
  readonly #parts: RequestUserParts;
  #hasSentAll = false;
  /** That answered before. */
  #workerId: string | undefined;

  constructor(parts: RequestUserParts) {
    this.#parts = parts;
  }

  get isOver(): boolean {
    return this.#hasSentAll && this.#parts.requests.areOver;
  }

  start(): void {
    const { world, plan, client, place } = this.#parts;
    client.run(world, async () => {
      const count = Math.min(plan.operationCount, REQUESTS_MAX);
      for (let left = count; left > 0 && !place.isClosed();) {
        await pause(world.random.delay(place.paceMs));
        const target = place.choose();
        if (!target) continue;
        left -= 1;
        if (place.change && world.random.chance(0.3)) await place.change(client);
        else this.#ask(target);
      }
      this.#hasSentAll = true;
    });
  }

  #ask(target: RequestTarget): void {
    const { world, plan } = this.#parts;
    if (plan.hasSockets && world.random.chance(SOCKETS)) void this.#openSocket(target);
    else void this.#request(target);
  }

  async #request(target: RequestTarget): Promise<void> {
    const { world, requests } = this.#parts;
    const { random } = world;
    const ask = this.#choose();
    const body = this.#body();
    const { request, sender, headers } = this.#make(target, ask, body.bytes);
    const gone = new AbortController();
    const timer = setTimeout(() => gone.abort(), this.#patienceMs());
    const sized: Record<string, string> = random.chance(0.5) ? { [SIZED_HEADER]: "1" } : {};
    try {
      const response = await sender.open(target.path, {
        ...body.init,
        headers: { ...headers, ...sized },
        signal: gone.signal,
      });
      await this.#receive(request, response, gone.signal);
    } catch {
      // Its connection broke, or it was given up.
    } finally {
      clearTimeout(timer);
      requests.over(request);
    }
  }

  async #openSocket(target: RequestTarget): Promise<void> {
    const { world, requests } = this.#parts;
    const { request, sender, headers } = this.#make(target, this.#choose(), 0);
    const { mark } = request;
    const use = new SocketUse({
      world,
      mark,
      conversations: requests.conversations,
      connect: () => sender.socket(target.path, headers),
      patienceMs: this.#patienceMs(),
      opened: (response) => {
        const answer = answerOf(response);
        this.#workerId = answer.workerId ?? undefined;
        requests.served(request, answer);
      },
      refused: (response, gone) => this.#receive(request, response, gone),
    });
    await use.run();
    requests.over(request);
  }

  #make({ endpointId, podId }: RequestTarget, { headers, workerId }: Ask, bodyBytes: number): Made {
    const { world, client, stranger, requests } = this.#parts;
    const { random } = world;
    const mark = `r${random.whole(0, 1e9)}`;
    const parts = random.pick([0, 1, 3, 8]);
    const foreigner = random.chance(FOREIGN) ? stranger : null;
    const isForeign = foreigner !== null;
    const asked = { mark, parts, workerId, endpointId, podId, bodyBytes, isForeign };
    const request: SentRequest = { ...asked, sentAt: world.elapsedMs, overAt: null };
    requests.send(request);
    return {
      request,
      sender: foreigner ?? client,
      headers: { ...headers, [MARK_HEADER]: mark, [PARTS_HEADER]: String(parts) },
    };
  }

  #patienceMs(): number {
    const { random } = this.#parts.world;
    return random.chance(PATIENT) ? PATIENT_MS : random.delay(random.pick(PATIENCE_MS));
  }

  /** Now and then it asks for the worker of an earlier answer. */
  #choose(): Ask {
    const { random } = this.#parts.world;
    const workerId = this.#workerId;
    if (workerId === undefined || random.chance(0.7)) return { headers: {}, workerId: null };
    const mode = random.pick(["", "strict ", "strict-resume "]);
    return { headers: { [WORKER_HEADER]: `${mode}${workerId}` }, workerId: mode === "" ? null : workerId };
  }

  #body(): Body {
    const { random } = this.#parts.world;
    const kind = random.pick(["none", "text", "text", "large", "stream"]);
    if (kind === "none") return { bytes: 0, init: { method: "GET" } };
    if (kind === "stream") return this.#streamed(random.whole(1, 4));
    const bytes = kind === "large" ? 150_000 : random.whole(0, 500);
    return { bytes, init: { method: "POST", body: "x".repeat(bytes) } };
  }

  #streamed(count: number): Body {
    const { random } = this.#parts.world;
    let left = count;
    const body = new ReadableStream({
      type: "bytes",
      pull: async (controller) => {
        await pause(1 + random.delay(PIECE_MS));
        left -= 1;
        controller.enqueue(new Uint8Array(100));
        if (left === 0) controller.close();
      },
    });
    return { bytes: 100 * count, init: { method: "POST", body, duplex: "half" } as RequestInit };
  }

  async #receive(request: SentRequest, response: Response, gone: AbortSignal): Promise<void> {
    const { requests, hasPlatformFaults } = this.#parts;
    const answer = answerOf(response);
    if (answer.mark === null) {
      const { code } = (await response.json()) as { readonly code?: string };
      return requests.refused(request, response.status, String(code), hasPlatformFaults);
    }
    this.#workerId = answer.workerId ?? undefined;
    const { text, isBroken } = await readText(response, gone);
    if (!gone.aborted) requests.answered(request, { ...answer, text, isBroken });
  }
}

function answerOf({ headers }: Response): Pick<ReceivedAnswer, "mark" | "workerId"> {
  return { mark: headers.get(MARK_HEADER), workerId: headers.get(WORKER_HEADER) };
}

/** What comes until the end, a break, or the end of the reader's patience. */
async function readText({ body }: Response, gone: AbortSignal): Promise<{ text: string; isBroken: boolean }> {
  let text = "";
  if (!body) return { text, isBroken: false };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const leave = (): void => void reader.cancel().catch(() => {});
  gone.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text, isBroken: false };
      text += value;
    }
  } catch {
    return { text, isBroken: true };
  } finally {
    gone.removeEventListener("abort", leave);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
