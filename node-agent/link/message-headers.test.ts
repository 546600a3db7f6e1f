import type { IncomingMessage } from "node:http";
import { describe, test } from "vitest";
import type { RequestHead } from "../../src/link/link-messages.ts";
import { decodeJson } from "../../src/link/link-messages.ts";
import { requestHeaders, responseHead, upgradeHeaders } from "./message-headers.ts";
import { LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";

const head = (headers: [string, string][], method = "POST"): RequestHead => {
  return { kind: "http", method, target: "/", headers: [["Host", "app"], ...headers] };
};
const answer = (rawHeaders: string[], statusCode = 200) =>
  ({ rawHeaders, statusCode, statusMessage: "OK" }) as IncomingMessage;

describe("headers of a request", () => {
  test("say once where its body ends", ({ expect }) => {
    const cases: [[string, string][], string, number | null][] = [
      [[["Content-Length", "12"]], "Content-Length: 12", 12],
      [[], "Transfer-Encoding: chunked", null],
      [[["Transfer-Encoding", "gzip, chunked"]], "Transfer-Encoding: chunked", null],
      [
        [
          ["content-length", "1"],
          ["Content-Length", "2"],
        ],
        "Transfer-Encoding: chunked",
        null,
      ],
      [[["Content-Length", "+1"]], "Transfer-Encoding: chunked", null],
      [[["Content-Length", "5, 5"]], "Transfer-Encoding: chunked", null],
    ];
    for (const [headers, framing, bodyBytes] of cases) {
      const framed = requestHeaders(head(headers), true);
      expect(framed.flat).toEqual(["Host", "app", ...framing.split(": ")]);
      expect(framed.bodyBytes).toBe(bodyBytes);
    }
  });

  test("of one without a body say so where servers ask, whatever its head claims", ({ expect }) => {
    expect(requestHeaders(head([["Content-Length", "7"]]), false).flat.slice(2)).toEqual([
      "Content-Length",
      "0",
    ]);
    expect(requestHeaders(head([]), false).flat.slice(2)).toEqual(["Content-Length", "0"]);
    expect(requestHeaders(head([], "GET"), false).flat.slice(2)).toEqual([]);
  });

  test("always name a host, and keep each byte of a value", ({ expect }) => {
    const flat = requestHeaders(
      {
        ...head([], "GET"),
        headers: [
          ["X-Name", "gr\u00fc\u00df"],
          ["X-Wide", "\u20ac"],
        ],
      },
      false,
    ).flat;
    expect(flat).toEqual(["Host", "localhost", "X-Name", "gr\u00fc\u00df", "X-Wide", "\u00e2\u0082\u00ac"]);
  });

  test("for a WebSocket leave its handshake to the connection, and keep what came twice", ({ expect }) => {
    const headers = upgradeHeaders(
      head([
        ["Connection", "Upgrade, X-Hop"],
        ["Upgrade", "websocket"],
        ["X-Hop", "1"],
        ["Sec-WebSocket-Key", "k"],
        ["Sec-WebSocket-Extensions", "permessage-deflate"],
        ["Sec-WebSocket-Protocol", "chat"],
        ["X-Two", "1"],
        ["x-two", "2"],
      ]),
    );
    expect([...headers]).toEqual([
      ["Host", ["app"]],
      ["Sec-WebSocket-Protocol", ["chat"]],
      ["X-Two", ["1", "2"]],
    ]);
  });
});

describe("the head of an answer", () => {
  test("is as the worker gave it, without what is about its connection", ({ expect }) => {
    const bytes = responseHead(answer(["X-A", "1", "connection", "close, X-B", "X-B", "2", "x-a", "3"]));
    expect(decodeJson(bytes ?? new Uint8Array())).toEqual({
      status: 200,
      statusText: "OK",
      headers: [
        ["X-A", "1"],
        ["x-a", "3"],
      ],
    });
  });

  test("is none when it does not fit a frame, or is no status", ({ expect }) => {
    expect(responseHead(answer(["X-A", "x".repeat(LINK_FRAME_MAX_BYTES)]))).toBeUndefined();
    expect(responseHead(answer([], 999))).toBeUndefined();
    expect(responseHead(answer(Array<string>(2_002).fill("a")))).toBeUndefined();
  });
});
