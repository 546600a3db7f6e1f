import fc from "fast-check";
import { test } from "vitest";
import { requestHeadSchema } from "../../link/link-messages.ts";
import { requestHead } from "./request-head.ts";

/** What Cloudflare says of the client. */
const SEEN = { client: "192.0.2.7" } as object;
const PLACE = { target: "/x?y", prefix: "" };

function headOf(headers: Record<string, string>, { url = "https://abc.lb.example.com/x?y", ...more } = {}) {
  const request = { method: "GET", url, headers: new Headers(headers), ...more };
  return requestHead(request, { ...PLACE, ...more }, { requestId: "id-1", client: null, ...more });
}

const named = (headers: readonly (readonly [string, string])[], name: string) =>
  headers.filter(([own]) => own === name).map(([, value]) => value);

const anyHeaders = fc.dictionary(
  fc.oneof(
    fc.constantFrom(
      "connection",
      "keep-alive",
      "te",
      "upgrade",
      "proxy-authorization",
      "transfer-encoding",
      "authorization",
      "x-runpod-worker-id",
      "cf-connecting-ip",
      "cf-ray",
      "expect",
      "host",
      "x-forwarded-for",
      "x-forwarded-proto",
      "x-forwarded-prefix",
      "forwarded",
      "x-real-ip",
      "proxy",
    ),
    fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/),
  ),
  fc.stringMatching(/^[!-~]([ -~]{0,10}[!-~])?$/),
);
const WITHHELD =
  /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|authorization|x-runpod-worker-id|http2-settings|proxy(-.*)?|cf-.*|forwarded|x-original-.*|(true-|x-)?client-ip)$/;
const SAID_BY_THE_EDGE = /^(x-forwarded-(for|proto|host|prefix)|x-request-id|x-real-ip)$/;

test("nothing of the connection, the key or Cloudflare passes, and all else does as it is", ({ expect }) => {
  fc.assert(
    fc.property(anyHeaders, (given) => {
      const { connection = "" } = given;
      const tokens = connection.split(",").map((token) => token.trim().toLowerCase());
      const { headers } = headOf(given);
      const passed = new Map(headers);
      for (const name of passed.keys()) expect(name).not.toMatch(WITHHELD);
      for (const [name, value] of Object.entries(given)) {
        if (WITHHELD.test(name) || SAID_BY_THE_EDGE.test(name)) continue;
        if (name !== "host" && tokens.includes(name)) expect(passed.has(name)).toBe(false);
        else if (name !== "host") expect(passed.get(name)).toBe(value);
      }
      expect(requestHeadSchema.safeParse(headOf(given)).success).toBe(true);
    }),
  );
});

test("what clients say about cookies, ranges, conditions and encodings passes", ({ expect }) => {
  const given = {
    cookie: "a=1; b=2",
    range: "bytes=0-9",
    "if-none-match": '"x"',
    "accept-encoding": "gzip, br",
    "content-length": "5",
    "content-type": "text/plain",
  };
  expect(Object.fromEntries(headOf(given).headers)).toMatchObject(given);
});

const CLAIMS = [
  "Forwarded",
  "X-Real-IP",
  "X_Real_IP",
  "X_Forwarded_For",
  "Remote_User",
  "True-Client-IP",
  "X-Client-IP",
  "X-Forwarded-Port",
  "X-Forwarded-Server",
  "X-Forwarded-User",
  "X-Forwarded-Ssl",
  "X-Original-URL",
  "X-Original-Host",
  "X-Rewrite-URL",
  "Proxy",
  "HTTP2-Settings",
  "Remote-User",
];

test("without Cloudflare the client is unknown", ({ expect }) => {
  expect(
    named(headOf({ "x-real-ip": "10.0.0.1", "cf-connecting-ip": "10.0.0.2" }).headers, "x-real-ip"),
  ).toEqual([]);
});

test("the edge says who the client is and what it called, whatever the client says", ({ expect }) => {
  const said = {
    host: "ABC.lb.example.com",
    "x-forwarded-for": "10.0.0.1",
    "x-forwarded-proto": "gopher",
    "x-forwarded-host": "evil.test",
    "x-forwarded-prefix": "/evil",
    "cf-connecting-ip": "10.0.0.2",
    ...Object.fromEntries(CLAIMS.map((name) => [name, "evil"])),
  };
  const { headers } = headOf(said, SEEN);
  expect(headers.filter(([name]) => name !== "x-request-id")).toEqual([
    ["host", "ABC.lb.example.com"],
    ["x-forwarded-for", "10.0.0.1, 192.0.2.7"],
    ["x-real-ip", "192.0.2.7"],
    ["x-forwarded-proto", "https"],
    ["x-forwarded-host", "ABC.lb.example.com"],
  ]);
});

test("a client that Cloudflare has named already is not named twice", ({ expect }) => {
  const { headers } = headOf({ "x-forwarded-for": "192.0.2.7" }, SEEN);
  expect(named(headers, "x-forwarded-for")).toEqual(["192.0.2.7"]);
});

test("the worker learns the path in front of its own", ({ expect }) => {
  expect(named(headOf({}, { prefix: "/lb/abc" } as object).headers, "x-forwarded-prefix")).toEqual([
    "/lb/abc",
  ]);
});

test("a request has an id: the client's, or one of the edge", ({ expect }) => {
  expect(named(headOf({}).headers, "x-request-id")).toEqual(["id-1"]);
  expect(named(headOf({ "X-Request-Id": "mine" }).headers, "x-request-id")).toEqual(["mine"]);
});

test("of a WebSocket's handshake only the subprotocols pass", ({ expect }) => {
  const head = headOf({
    connection: "Upgrade",
    upgrade: "WebSocket",
    "sec-websocket-key": "k",
    "sec-websocket-version": "13",
    "sec-websocket-extensions": "permessage-deflate",
    "sec-websocket-protocol": "chat, other",
  });
  expect(head.kind).toBe("websocket");
  expect(head.headers.filter(([name]) => name.startsWith("sec-"))).toEqual([
    ["sec-websocket-protocol", "chat, other"],
  ]);
});

test("an upgrade to anything else is an ordinary request", ({ expect }) => {
  expect(headOf({ connection: "Upgrade", upgrade: "h2c" }).kind).toBe("http");
});

test("text beyond ASCII passes as its bytes", ({ expect }) => {
  const headers = {
    get: () => null,
    has: () => true,
    *[Symbol.iterator]() {
      yield ["x-name", "é"];
    },
  };
  const request = { method: "GET", url: "http://a/", headers: headers as unknown as Headers };
  expect(named(requestHead(request, PLACE, { requestId: "id", client: null }).headers, "x-name")).toEqual([
    "\u00c3\u00a9",
  ]);
});
