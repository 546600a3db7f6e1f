import type { Readable, Writable } from "node:stream";
import { type CANCEL_SYMBOL, confirm, isCancel, multiselect, password, text } from "@clack/prompts";
import { Failure } from "../../src/std/failure.ts";
import { Interruption } from "../core/interruption.ts";
import { isInteractive } from "../core/palette.ts";

type PrompterSettings = {
  readonly input: Readable;
  readonly output: Writable;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

/** Asks questions at a terminal. Throws a Failure where there is none, and an Interruption on Ctrl+C. */
export class Prompter {
  readonly #settings: PrompterSettings;

  constructor(settings: PrompterSettings) {
    this.#settings = settings;
  }

  /** There is a terminal to ask at. */
  get isPossible(): boolean {
    const { input, output, environment } = this.#settings;
    return "isTTY" in input && input.isTTY === true && isInteractive(output, environment);
  }

  async confirm(question: string): Promise<boolean> {
    const common = this.#common(question, "Give --yes to answer yes without being asked.");
    return answered(await confirm({ ...common, initialValue: false }));
  }

  async text(question: string, advice = "Run it in a terminal: --yes does not answer it."): Promise<string> {
    return answered(await text(this.#common(question, advice)));
  }

  async secret(question: string): Promise<string> {
    return answered(await password(this.#common(question, "Run it in a terminal.")));
  }

  async many<Value extends string>(
    question: string,
    choices: readonly { readonly value: Value; readonly label: string }[],
  ): Promise<readonly Value[]> {
    const common = this.#common(question, "--yes does not choose; name what is meant instead.");
    return answered(
      await multiselect<string>({ ...common, options: [...choices], required: false }),
    ) as Value[];
  }

  #common(message: string, advice: string) {
    const { input, output, signal } = this.#settings;
    if (!this.isPossible) {
      throw new Failure(`This needs an answer, and there is no terminal: ${message}`, [advice]);
    }
    return { message, input, output, signal, withGuide: false };
  }
}

function answered<Value>(answer: Value | typeof CANCEL_SYMBOL): Value {
  if (isCancel(answer)) throw new Interruption();
  return answer;
}
