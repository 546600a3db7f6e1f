import { test } from "vitest";
import { Failure } from "../../src/std/failure.ts";
import { checkedEdgeUrl } from "./edge-url.ts";

test.for([
  ["https://edge.example/", "https://edge.example"],
  ["http://127.0.0.1:8787", "http://127.0.0.1:8787"],
  ["http://127.3.2.1", "http://127.3.2.1"],
  ["http://localhost:8787/", "http://localhost:8787"],
  ["http://[::1]:8787", "http://[::1]:8787"],
] as const)("the edge may be %s", ([url, checked], { expect }) => {
  expect(checkedEdgeUrl(url, false)).toBe(checked);
});

test.for([
  "http://edge.example",
  "http://10.0.0.5:8787",
  "http://127.0.0.1.edge.example",
  "http://localhost.edge.example",
  "http://[::2]",
  "http://user@edge.example",
])("the edge may be %s only where the owner allows it", (url, { expect }) => {
  expect(() => checkedEdgeUrl(url, false)).toThrow(Failure);
  expect(checkedEdgeUrl(url, true)).toBe(url);
});

test.for(["", "edge.example", "ftp://edge.example", "file:///etc/passwd"])(
  "%s is no address of an edge, whatever is allowed",
  (url, { expect }) => {
    expect(() => checkedEdgeUrl(url, true)).toThrow(Failure);
  },
);
