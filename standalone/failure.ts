/** A failure the user can do something about: printed as it is, without a stack. */
export class StartFailure extends Error {
  readonly whatHappened: string;
  readonly howToSolve: readonly string[];

  constructor(whatHappened: string, ...howToSolve: readonly string[]) {
    super([whatHappened, ...howToSolve.map((line) => `  ${line}`)].join("\n"));
    this.name = "StartFailure";
    this.whatHappened = whatHappened;
    this.howToSolve = howToSolve;
  }
}
