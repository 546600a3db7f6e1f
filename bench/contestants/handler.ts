/** What the handler of every contestant does: answer at once, and yield a chunk first when asked to. */

export type HandlerAnswer = { readonly chunk?: string; readonly output: { readonly greeting: string } };

/** The output is that of examples/hello. */
export function answerTo(input: unknown): HandlerAnswer {
  const { name, chunk } = input as { readonly name?: string; readonly chunk?: string };
  const output = { greeting: `Hello, ${name ?? "world"}!` };
  return chunk === undefined ? { output } : { chunk, output };
}

export const JOB_BODY = JSON.stringify({ input: { name: "bench" } });
export const STREAMED_JOB_BODY = JSON.stringify({ input: { name: "bench", chunk: "first" } });
