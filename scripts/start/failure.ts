/** A failure the user can do something about: printed as it is, without a stack. */
export class StartFailure extends Error {
  constructor(whatHappened: string, ...howToSolve: readonly string[]) {
    super([whatHappened, ...howToSolve.map((line) => `  ${line}`)].join("\n"));
    this.name = "StartFailure";
  }
}
