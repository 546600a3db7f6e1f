import { test } from "vitest";
import { LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";
import { LINK_WINDOW_MAX_BYTES } from "../../src/link/link-window.ts";
import { RequestBody, RequestSource } from "../../src/forwarding/request-body.ts";

/** A source that never ends, and whether it was cancelled. */
function endlessSource() {
  const state = { isCancelled: false };
  const stream = new ReadableStream({
    type: "bytes",
    pull: (controller) => controller.enqueue(new Uint8Array(LINK_FRAME_MAX_BYTES)),
    cancel: () => {
      state.isCancelled = true;
    },
  });
  const source = new RequestSource({ open: () => Promise.resolve(stream) }, true);
  return { state, source };
}

test("the source is cancelled when the answer was over before the body", async ({ expect }) => {
  const { state, source } = endlessSource();
  const body = new RequestBody(() => undefined);
  body.answerIsOver();
  expect(await body.sendFrom(source)).toBe("unwanted");
  expect(state.isCancelled).toBe(true);
});

test("the source is cancelled when the body is too large", async ({ expect }) => {
  const { state, source } = endlessSource();
  const body = new RequestBody((payload) => body.credited(payload.byteLength));
  expect(body.credited(LINK_WINDOW_MAX_BYTES)).toBe(false);
  expect(await body.sendFrom(source)).toBe("too_large");
  expect(state.isCancelled).toBe(true);
});

test("the source is left to another worker when this one refuses the request", async ({ expect }) => {
  const { state, source } = endlessSource();
  const body = new RequestBody(() => undefined);
  body.leave();
  expect(await body.sendFrom(source)).toBe("stopped");
  expect(state.isCancelled).toBe(false);
});
