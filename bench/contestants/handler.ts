/** What the handler of every contestant does: answer at once, and yield a chunk first when asked to. */

export type HandlerAnswer = { readonly chunk?: string; readonly output: { readonly greeting: string } };

/** The output is that of examples/hello. */
export function answerTo(input: unknown): HandlerAnswer {
  const { name, chunk } = input as { readonly name?: string; readonly chunk?: string };
  const output = { greeting: `Hello, ${name ?? "world"}!` };
  return chunk === undefined ? { output } : { chunk, output };
}

export const JOB_BODY = JSON.stringify({ input: { name: "bench" } });

/** A job whose input has about so many bytes of values as image models get them. */
export function jobBody(inputBytes: number): string {
  const row = {
    prompt: "a photo of an astronaut",
    steps: 30,
    cfg: 7.5,
    seed: 123_456_789,
    tags: ["x", null],
  };
  const rows = Array.from({ length: Math.ceil(inputBytes / JSON.stringify(row).length) }, () => row);
  return JSON.stringify({ input: { name: "bench", rows } });
}
export const STREAMED_JOB_BODY = JSON.stringify({ input: { name: "bench", chunk: "first" } });
