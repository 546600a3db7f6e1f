/** The child's side of a process of the benchmark: tells that it is ready, then answers commands. */

/** What a process can be asked; each command takes one argument. */
export type Commands = Readonly<Record<string, (argument: never) => unknown>>;

export type Question = { readonly id: number; readonly command: string; readonly argument: unknown };
export type Answer = { readonly id: number } & ({ readonly value: unknown } | { readonly error: string });

/** The settings that the parent started this process with. */
export function readSettings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? "null") as Settings;
}

/** Answers the parent until it has gone. */
export function answerCommands(commands: Commands): void {
  process.on("message", (question: Question) => void answer(commands, question));
  process.on("disconnect", () => process.exit());
  process.send?.("ready");
}

async function answer(commands: Commands, { id, command, argument }: Question): Promise<void> {
  try {
    const value = await commands[command]?.(argument as never);
    process.send?.({ id, value });
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}
