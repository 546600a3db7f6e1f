/** `node:child_process` of a simulated host, which has no programs: not even that of its GPUs' driver. */

type Callback = (error: Error) => void;

export function execFile(
  program: string,
  _args: readonly string[],
  _options: object,
  callback: Callback,
): void {
  callback(Object.assign(new Error(`spawn ${program} ENOENT`), { code: "ENOENT" }));
}

export function spawn(program: string): never {
  throw Object.assign(new Error(`spawn ${program} ENOENT`), { code: "ENOENT" });
}
