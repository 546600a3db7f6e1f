/** What holds of commands that clients run in containers. */
import type { OutputName } from "../../../node-agent/runtime/interface/command.ts";
import type { CommandObserver } from "../host/commands.ts";
import type { Container } from "../host/containers.ts";

type Program = {
  readonly printed: Record<OutputName, string>;
  /** Of its standard input. */
  read: string;
  container: Container | null;
  exitCode: number | null;
  isOver: boolean;
};

export class Commands implements CommandObserver {
  readonly #violate: (what: string) => void;
  readonly #programs = new Map<string, Program>();

  constructor(violate: (what: string) => void) {
    this.#violate = violate;
  }

  /** As its container knows it. */
  of(mark: string): Program {
    const known = this.#programs.get(mark);
    if (known) return known;
    const printed = { stdout: "", stderr: "" };
    const made: Program = { printed, read: "", container: null, exitCode: null, isOver: false };
    this.#programs.set(mark, made);
    return made;
  }

  /** It runs, and nothing keeps it from being ended. */
  isRunning(mark: string): boolean {
    const { container, isOver } = this.of(mark);
    return container !== null && !isOver && container.isRunning && !container.isFrozen;
  }

  began = (mark: string, container: Container): void => {
    const program = this.of(mark);
    if (program.container) this.#violate(`the command ${mark} is started twice`);
    program.container = container;
  };

  printed = (mark: string, name: OutputName, text: string): void => {
    this.of(mark).printed[name] += text;
  };

  read = (mark: string, text: string): void => {
    this.of(mark).read += text;
  };

  exited = (mark: string, code: number): void => {
    this.of(mark).exitCode = code;
  };

  over = (mark: string): void => {
    this.of(mark).isOver = true;
  };

  frozen = (container: Container): void => {
    for (const [mark, program] of this.#programs)
      if (program.container === container && !program.isOver)
        this.#violate(`the command ${mark} is frozen with its container`);
  };
}
