/** A call as its person sees it: whatever becomes of it, its line is ended once. */
import { Failure } from "../failure.ts";
import { CallRefusal, detailAnswer } from "./call-answer.ts";
import type { CallLine, CallLog } from "./call-log.ts";
import { CallFailure } from "./served-app.ts";

/** Of a caller that has gone; nobody reads it. */
const CLIENT_CLOSED_REQUEST = 499;

/** What holds for one connection only. */
const HOP_BY_HOP = ["connection", "keep-alive", "transfer-encoding", "upgrade"];

/** Answers a call, and sees to it that its line is ended when the last byte of the answer is sent. */
export async function observed(
  line: CallLine,
  request: Request,
  answer: (line: CallLine) => Promise<Response>,
): Promise<Response> {
  const once = new LineEndedOnce(line);
  try {
    const answered = await answer(once);
    if (request.method === "HEAD") await answered.body?.cancel();
    const body = request.method === "HEAD" ? null : answered.body;
    return sent(answered, body, (isWhole) => endBy(once, answered.status, isWhole));
  } catch (error) {
    if (request.signal.aborted) {
      once.fail("The caller has gone.");
      return new Response(null, { status: CLIENT_CLOSED_REQUEST });
    }
    return answerOfError(error, once);
  }
}

/** For calls that are repeated all the time: it is begun only when there is a failure to tell. */
export function failuresOnly(log: CallLog, call: Parameters<CallLog["begin"]>[0]): CallLine {
  const silent = (): void => {};
  return {
    waiting: silent,
    running: silent,
    printed: silent,
    done: silent,
    fail: (reason, detail) => log.begin(call).fail(reason, detail),
  };
}

/** What is told to who calls, and to who watches. */
export function answerOfError(error: unknown, line?: CallLine): Response {
  if (error instanceof CallRefusal) {
    line?.fail(`${error.status}: ${error.message}`);
    return error.answer();
  }
  if (error instanceof Failure || error instanceof CallFailure) {
    const advice = error instanceof Failure ? error.advice : [];
    line?.fail(error.message, advice.length > 0 ? advice.join("\n") : undefined);
    const status = error instanceof CallFailure ? error.status : 503;
    return detailAnswer(status, [error.message, ...advice].join(" "));
  }
  const text = error instanceof Error ? error : new Error(String(error));
  line?.fail(`flash has met a fault of its own: ${text.message}`, text.stack);
  return detailAnswer(500, `flash has met a fault of its own: ${text.message}`);
}

class LineEndedOnce implements CallLine {
  readonly #line: CallLine;
  #isEnded = false;

  constructor(line: CallLine) {
    this.#line = line;
  }

  waiting(reason: string): void {
    if (!this.#isEnded) this.#line.waiting(reason);
  }

  running(worker: Parameters<CallLine["running"]>[0]): void {
    if (!this.#isEnded) this.#line.running(worker);
  }

  printed(text: string): void {
    if (!this.#isEnded) this.#line.printed(text);
  }

  done(facts: Parameters<CallLine["done"]>[0]): void {
    this.#end(() => this.#line.done(facts));
  }

  fail(reason: string, detail?: string): void {
    this.#end(() => this.#line.fail(reason, detail));
  }

  #end(act: () => void): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    act();
  }
}

function endBy(line: CallLine, status: number, isWhole: boolean): void {
  if (!isWhole) line.fail("The answer broke off.");
  else if (status >= 400) line.fail(`Answered with status ${status}.`);
  else line.done({});
}

/** The same answer with this body, told when it has been read, whole or not. */
function sent(
  answer: Response,
  body: ReadableStream<Uint8Array> | null,
  onEnd: (isWhole: boolean) => void,
): Response {
  const headers = new Headers(answer.headers);
  for (const name of HOP_BY_HOP) headers.delete(name);
  const { status, statusText } = answer;
  if (body === null) onEnd(true);
  return new Response(body === null ? null : watched(body, onEnd), { status, statusText, headers });
}

function watched(
  body: ReadableStream<Uint8Array>,
  onEnd: (isWhole: boolean) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          onEnd(true);
          controller.close();
        } catch (error) {
          onEnd(false);
          controller.error(error);
        }
      },
      cancel: async (reason) => {
        onEnd(false);
        await reader.cancel(reason);
      },
    },
    // Nothing is read ahead of who reads.
    { highWaterMark: 0 },
  );
}
