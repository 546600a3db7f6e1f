/** `node:timers/promises` in the time of the world. */

type Options = { readonly signal?: AbortSignal; readonly ref?: boolean };

const waitFor = <Value>(
  delayMs: number,
  value?: Value,
  { signal }: Options = {},
): Promise<Value | undefined> =>
  new Promise((resolve, reject) => {
    const fail = (): void => {
      globalThis.clearTimeout(timer);
      reject(
        Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" }),
      );
    };
    const timer = globalThis.setTimeout(() => {
      signal?.removeEventListener("abort", fail);
      resolve(value);
    }, delayMs);
    if (signal?.aborted) fail();
    else signal?.addEventListener("abort", fail, { once: true });
  });

async function* every<Value>(
  delayMs: number,
  value?: Value,
  options?: Options,
): AsyncGenerator<Value | undefined> {
  for (;;) yield await waitFor(delayMs, value, options);
}

export { waitFor as setTimeout, every as setInterval };
export const setImmediate = <Value>(value?: Value): Promise<Value | undefined> => waitFor(0, value);
export const scheduler = {
  wait: (delayMs: number, options?: Options) => waitFor(delayMs, undefined, options),
};
